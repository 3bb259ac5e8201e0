"""instructor: an object of a class out of a text, without search (MD_JSON)."""

import json
import sys

import instructor
from openai import OpenAI
from pydantic import BaseModel

address = sys.argv[1]


class Body(BaseModel):
    """A body in the sky."""

    name: str
    kilometres: int


client = instructor.from_openai(
    OpenAI(base_url=address, api_key="none"), mode=instructor.Mode.MD_JSON
)
body = client.chat.completions.create(
    model="convrag-plain",
    response_model=Body,
    messages=[{"role": "user", "content": "The Moon is 384,400 km away."}],
)
assert (body.name, body.kilometres) == ("Moon", 384400)
sys.stdout.write(f"\n{json.dumps({'answer': str(body), 'sources': None})}\n")
