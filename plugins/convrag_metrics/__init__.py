"""Metrics of rankings, answers, citations and rewrites."""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the metrics."""
    register("metrics", "ranking", "convrag_metrics.ranking:RankingMetrics")
    register("metrics", "evidence", "convrag_metrics.evidence:EvidenceMetrics")
    register("metrics", "answers", "convrag_metrics.answers:AnswerMetrics")
    register("metrics", "bertscore", "convrag_metrics.bertscore:BertScoreMetrics")
    register("metrics", "rb_agg", "convrag_metrics.rb_agg:RbAggMetrics")
    register("metrics", "grounding", "convrag_metrics.grounding:GroundingMetrics")
    register("metrics", "mtrag", "convrag_metrics.mtrag:MtragMetrics")
    register("metrics", "faithfulness", "convrag_metrics.mtrag:MtragMetrics", measures="RL_F")
    register("metrics", "trust", "convrag_metrics.trust:TrustMetrics")
    register("metrics", "reference_free", "convrag_metrics.reference_free:ReferenceFreeMetrics")
    register("metrics", "answerability", "convrag_metrics.answerability:AnswerabilityMetrics")
    register("metrics", "rewrites", "convrag_metrics.rewrites:RewriteMetrics")
    register("metrics", "goal_success", "convrag_metrics.goal_success:GoalSuccessMetrics")
