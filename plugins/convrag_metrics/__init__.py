"""Metrics of rankings, answers, citations and rewrites.

Rankings:

* `ranking`: `metrics=ranking`: how well passages were ranked, by the qrels.
* `trec_eval`: trec_eval's measures, through ir-measures.
* `alpha_ndcg`, `subtopics`: alpha-nDCG, and the subtopics of relevant passages.
* `evidence`: `metrics=evidence`: the passages that the model sees.
* `qrels_report`: reports on qrels that do not match the corpus or the run.
* `rewrites`: `metrics=rewrites`: rewrites compared with reference rewrites.

Answers compared with references:

* `answers`: `metrics=answers`: closeness to the reference answers, word by word.
* `token_overlap`: token precision, recall and F1, and ROUGE-L.
* `bleu`: BLEU.
* `bertscore`, `rb_agg`: `metrics=bertscore`, and `metrics=rb_agg` of MTRAG.
* `bert_metrics`, `bert_encoder`, `pretrained`: their base, BERTScore itself, and its models.

Answers compared with passages:

* `grounding`: `metrics=grounding`: whether answers cite passages that support them.
* `trust`: `metrics=trust`: faithful, complete and appropriate, by shared words.
* `mtrag`: `metrics=mtrag` and `faithfulness`: answers judged by language models.
* `reference_free`: `metrics=reference_free`: without judgements and reference answers.
* `verdicts`: the forms of judges' replies.

Decisions and dialogues:

* `answerability`: `metrics=answerability`: does the answer refuse, and should it?
* `answerability_labels`: MTRAG's labels of answerability.
* `decision_report`: the report on decisions to answer, refuse or ask back.
* `idk`, `idk_patterns`: detects "I do not know" by rules in English, and their patterns.
* `goal_success`: `metrics=goal_success`: whether simulated users reached their goal.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the metrics."""
    _register_scores(register)
    _register_judgements(register)


def _register_scores(register: Register) -> None:
    """Register the metrics of rankings, evidence and answers."""
    register(
        "metrics",
        "ranking",
        "convrag_metrics.ranking:RankingMetrics",
        "Recall, nDCG and the other ranking measures of trec_eval, through ir-measures.",
    )
    register(
        "metrics",
        "evidence",
        "convrag_metrics.evidence:EvidenceMetrics",
        "Precision, recall, nDCG, alpha-nDCG and length of the passages that the model sees.",
    )
    register(
        "metrics",
        "answers",
        "convrag_metrics.answers:AnswerMetrics",
        "Compare answers with references by token F1, ROUGE-L and BLEU, and with the evidence.",
    )
    register(
        "metrics",
        "bertscore",
        "convrag_metrics.bertscore:BertScoreMetrics",
        "BERTScore of answers against reference answers and against the passages they were given.",
    )
    register(
        "metrics",
        "rb_agg",
        "convrag_metrics.rb_agg:RbAggMetrics",
        "MTRAG's RB_agg: the harmonic mean of ROUGE-L, BERT recall and BERT K-precision.",
    )
    register(
        "metrics",
        "grounding",
        "convrag_metrics.grounding:GroundingMetrics",
        "Shares of sentences with citations, of existing citations, and of supported sentences.",
    )
    register(
        "metrics",
        "mtrag",
        "convrag_metrics.mtrag:MtragMetrics",
        "RB_alg, RL_F and RB_llm as MTRAG defines them, and their harmonic mean.",
    )


def _register_judgements(register: Register) -> None:
    """Register the metrics of faithfulness, answerability and rewrites."""
    register(
        "metrics",
        "faithfulness",
        "convrag_metrics.mtrag:MtragMetrics",
        "RB_alg, RL_F and RB_llm as MTRAG defines them, and their harmonic mean.",
        measures="RL_F",
    )
    register(
        "metrics",
        "trust",
        "convrag_metrics.trust:TrustMetrics",
        "Faithfulness, completeness and appropriateness of answers, from the words of the"
        " passages.",
    )
    register(
        "metrics",
        "reference_free",
        "convrag_metrics.reference_free:ReferenceFreeMetrics",
        "Measure answers by their evidence, where a data set has neither qrels nor "
        "reference answers.",
    )
    register(
        "metrics",
        "answerability",
        "convrag_metrics.answerability:AnswerabilityMetrics",
        "Whether answers say that they do not know where they should: precision, recall and F1.",
    )
    register(
        "metrics",
        "rewrites",
        "convrag_metrics.rewrites:RewriteMetrics",
        "Rewrites against reference rewrites, changed questions, and the work of gates and chains.",
    )
    register(
        "metrics",
        "goal_success",
        "convrag_metrics.goal_success:GoalSuccessMetrics",
        "Whether simulated users reach their goal, in how many turns, and which facts "
        "they were given.",
    )
