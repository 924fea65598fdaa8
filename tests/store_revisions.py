"""Rows as each schema revision wrote them: frozen, so that later code proves that it still reads them.

They are the records of `store_fixtures`: one run with two cases. A new revision gets an entry of its own: the
statements of the one before, with what it changed.
"""

_JUDGE = """
INSERT INTO judges VALUES ('265de4474c09', 'openai', 'https://judge.example/v1', 'judge-latest',
'judge-2026-02', NULL, 'c0ffee', '{"temperature":0,"stop":["。"]}')
"""
_RUN = """
INSERT INTO runs VALUES ('shop-2026-03-01', 'shop', 'nightly', '2026-03-01', '2026-03-01 00:00:00.000000',
'2026-03-02 00:00:00.000000', false, NULL, NULL, '265de4474c09', '{"faithfulness":"1"}', '', '', 'planned',
'{"read":812,"sampled":100}', NULL, '2026-03-02 02:30:00.000000', NULL)
"""
_CASES = """
INSERT INTO cases VALUES
('shop-2026-03-01', 'golden:q1', 0, 0, 'golden', 'q1', '2318e52e4788', 'zh', 'refund', 'golden', 1.0,
NULL, 'r2',
'{"item_id":"q1","user_input":"退款多久到账？","reference":"七个工作日。","reference_contexts":null,
"reference_context_ids":null,"expected_intent":null,"answerable":null,"history":[],"tags":[],
"status":"approved","origin":"manual"}',
'{"response":"七个工作日。","retrieved_contexts":["退款七个工作日到账。","联系客服。"],
"retrieved_context_ids":null,"intent":null,"rewritten_query":null,"tool_calls":null,"release":"r2",
"latency_ms":812.5,"answered_at":null,"feedback":null,"error":null,"error_kind":null}'),
('shop-2026-03-01', 'golden:q2', 1, 0, 'golden', 'q2', '190a4d113ff0', 'zh', 'refund', 'golden', 1.0,
NULL, NULL,
'{"item_id":"q2","user_input":"退款多久到账？","reference":"七个工作日。","reference_contexts":null,
"reference_context_ids":null,"expected_intent":null,"answerable":null,"history":[],"tags":[],
"status":"approved","origin":"manual"}', NULL)
"""
_SCORES = """
INSERT INTO scores VALUES
('shop-2026-03-01', 'golden:q1', 'faithfulness', '1', 0.5, 'ok', '265de4474c09', 2, 1, 900, 80,
'两条陈述，一条有依据。', '{"claims":[{"claim":"七个工作日","supported":true}]}'),
('shop-2026-03-01', 'golden:q2', 'faithfulness', '1', NULL, 'judge_error', NULL, 2, 1, 900, 80,
'两条陈述，一条有依据。', '{"claims":[{"claim":"七个工作日","supported":true}]}')
"""
_VERDICTS = """
INSERT INTO verdicts VALUES ('shop-2026-03-01', 0, 'faithfulness', 'golden', 'all', 'ok', NULL, NULL, NULL,
9, 1, 0, 10, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, '0.91 ≥ 0.80')
"""
_OUTBOX = """
INSERT INTO outbox VALUES ('shop-2026-03-01:digest', 'shop-2026-03-01', 'digest', '#shop-bot',
'{"text":"忠实度下降","blocks":[{"type":"divider"}]}', NULL, 'pending', 0, NULL, NULL, NULL,
'2026-03-02 02:30:00.000000', NULL, NULL)
"""

_FIRST = (_JUDGE, _RUN, _CASES, _SCORES, _VERDICTS, _OUTBOX)

ROWS = {
    "0001": _FIRST,
    "0002": _FIRST,  # an index only
}
