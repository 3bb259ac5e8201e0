"""Metrics of rankings, answers, citations and rewrites."""

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
        "Precision, recall, nDCG and alpha-nDCG of the passages that the model sees, and "
        "how long they are.",
    )
    register(
        "metrics",
        "answers",
        "convrag_metrics.answers:AnswerMetrics",
        "Compare answers with reference answers: token F1, ROUGE-L, BLEU; with the "
        "evidence: K-precision; and length.",
    )
    register(
        "metrics",
        "bertscore",
        "convrag_metrics.bertscore:BertScoreMetrics",
        "BERTScore of answers against reference answers, and of answers against the "
        "passages they were given.",
    )
    register(
        "metrics",
        "rb_agg",
        "convrag_metrics.bertscore:RbAggMetrics",
        "MTRAG's RB_agg: the harmonic mean of ROUGE-L, BERT recall and BERT K-precision, "
        "conditioned on answerability.",
    )
    register(
        "metrics",
        "grounding",
        "convrag_metrics.grounding:GroundingMetrics",
        "Share of sentences with a citation, of citations that exist, and of cited "
        "sentences that their passages support.",
    )
    register(
        "metrics",
        "mtrag",
        "convrag_metrics.mtrag:MtragMetrics",
        'RB_alg, RL_F and RB_llm as MTRAG defines them, conditioned on "I do not know", '
        "and their harmonic mean.",
    )


def _register_judgements(register: Register) -> None:
    """Register the metrics of faithfulness, answerability and rewrites."""
    register(
        "metrics",
        "faithfulness",
        "convrag_metrics.mtrag:MtragMetrics",
        'RB_alg, RL_F and RB_llm as MTRAG defines them, conditioned on "I do not know", '
        "and their harmonic mean.",
        measures="RL_F",
    )
    register(
        "metrics",
        "trust",
        "convrag_metrics.trust:TrustMetrics",
        "Faithfulness, completeness and appropriateness of answers without a model, from "
        "the words of the passages shown.",
    )
    register(
        "metrics",
        "reference_free",
        "convrag_metrics.reference_free:ReferenceFreeMetrics",
        "Measure answers by their evidence alone, where the data set has neither qrels "
        "nor reference answers.",
    )
    register(
        "metrics",
        "answerability",
        "convrag_metrics.answerability:AnswerabilityMetrics",
        "Whether answers say that they do not know where they should: precision, recall, "
        "F1, and conditioned scores.",
    )
    register(
        "metrics",
        "rewrites",
        "convrag_metrics.rewrites:RewriteMetrics",
        "How rewrites compare with reference rewrites, how often questions are changed, "
        "and what gates and chains did.",
    )
    register(
        "metrics",
        "goal_success",
        "convrag_metrics.goal_success:GoalSuccessMetrics",
        "Whether simulated users reach their goal (dataset=simulated), in how many turns, "
        "and what the answers gave them.",
    )
