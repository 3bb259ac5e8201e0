"""Written conversations for rewriter=resolve: what was said, the question, and the question with its references."""

from __future__ import annotations

TOWER = [("How high is the Eiffel Tower?", "It is 330 metres high and was opened in 1889.")]
LISA = [("Who painted the Mona Lisa?", "Leonardo da Vinci painted it around 1503.")]
CURIE = [("who was marie curie", "Marie Curie was a physicist. She won two Nobel Prizes.")]
LEASE = [("Can my landlord terminate my lease early?", "Only if the lease has a break clause.")]
DRUG = [("What is ibuprofen used for?", "Ibuprofen treats pain, fever and inflammation.")]
PLANS = [
    (
        "Which plans do you offer?",
        "We have three plans:\n1. **Basic**: 5 GB of storage\n2. **Plus**: 50 GB\n3. **Pro**: 500 GB and support",
    )
]
CHEESES = [("What goes into a quattro formaggi?", "It has mozzarella, gorgonzola, parmesan and fontina.")]
FUNDS = [("How can I save for retirement?", "You can use an index fund or a savings bond.")]
OSLO = [("How cold is Oslo in summer?", "Around 16 degrees.")]
LYON = [("Where should I stay in Lyon?", "Stay in the old town, near the cathedral.")]
RISOTTO = [("How do I make risotto?", "Fry the rice in butter, then add hot broth.")]
PYTHON = [("What is a Python decorator?", "A decorator wraps a function.")]
MESSI = [("Which club did Lionel Messi join in 2023?", "Lionel Messi joined Inter Miami. He had been at PSG.")]
BEAGLE = [("does a beagle bark a lot?", "Yes, they are vocal.")]
SHARKS = [("What do tiger sharks eat?", "Tiger sharks eat fish, seals and turtles.")]
LONG = [
    ("How high is the Eiffel Tower?", "330 metres."),
    ("How old is the Colosseum?", "It was completed in 80 AD."),
    ("Who designed the Sagrada Familia?", "Antoni Gaudi designed it."),
]
RAIN = [("What is the weather in Bergen?", "It rains on 200 days a year.")]
GDP = [("Is nominal GDP the same as real GDP?", "No, real GDP is adjusted for inflation.")]
MUSEUM = [("Is the Louvre closed on Tuesdays?", "Yes, the museum is closed on Tuesdays.")]
NORWAY = [("What is the capital of Norway?", "Oslo is the capital of Norway.")]
STEPS = [("how do i reset my router", "- Unplug the router\n- Wait ten seconds\n- Plug it in again")]
VISA = [("What visas does Canada have?", "Canada has a) a visitor visa; b) a study permit; c) a work permit.")]

IRA = [("What is a Roth IRA?", "A Roth IRA is a retirement account."), ("Is it legal?", "Yes.")]
PASSPORT = [("How do I renew my passport?", "You need form DS-82, a photo and a fee of $130.")]
MUSK = [("What did Elon Musk buy in 2022?", "Elon Musk bought Twitter in October 2022 for $44 billion.")]
BACK = [
    (
        "best exercises for lower back pain",
        "1. Cat-cow stretch: arch it\n2. Bird dog: extend an arm\n3. Bridges: lift it",
    ),
    ("how do i do the first one", "Get on your hands and knees."),
]
SPEED = [("Is Python faster than Java?", "No, Java is usually faster than Python.")]
SNAP = [("Does the SNAP program cover hot food in Ohio?", "No.")]
OPTIONS = [("Explain stock options vs RSUs", "Stock options give a right. RSUs are shares that vest.")]

RESOLVED = [
    # pronouns
    (TOWER, "How heavy is it?", "How heavy is the Eiffel Tower?"),
    (TOWER, "what is its weight", "what is the Eiffel Tower's weight"),
    (TOWER, "When was it built and who designed it?", "When was the Eiffel Tower built and who designed it?"),
    (TOWER, "It's made of what?", "The Eiffel Tower is made of what?"),
    (LISA, "Where is it now?", "Where is the Mona Lisa now?"),
    (LISA, "When was he born?", "When was Leonardo da Vinci born?"),
    (CURIE, "where did she study", "where did marie curie study"),
    (CURIE, "what was her husband's name", "what was marie curie's husband's name"),
    (DRUG, "Can I take it with alcohol?", "Can I take ibuprofen with alcohol?"),
    (DRUG, "is it safe during pregnancy", "is ibuprofen safe during pregnancy"),
    (RISOTTO, "How long does it take?", "How long does risotto take?"),
    (RISOTTO, "can i freeze it", "can i freeze risotto"),
    (PYTHON, "How do they work?", "How do Python decorators work?"),
    (PYTHON, "when should i use it", "when should i use a Python decorator"),
    (BEAGLE, "how old do they get?", "how old do beagles get?"),
    (SHARKS, "Are they dangerous?", "Are tiger sharks dangerous?"),
    (SHARKS, "What are their predators?", "What are tiger sharks' predators?"),
    (MESSI, "How old is he?", "How old is Lionel Messi?"),
    (GDP, "How are they measured?", "How are nominal GDP and real GDP measured?"),
    (NORWAY, "How many people live there?", "How many people live in Oslo?"),
    (LYON, "What can I eat there?", "What can I eat in Lyon?"),
    (IRA, "How much can I put into it?", "How much can I put into a Roth IRA?"),
    (PASSPORT, "how long does it take?", "how long does my passport take?"),
    (MUSK, "How much did he pay for it?", "How much did Elon Musk pay for Twitter?"),
    (SPEED, "Why is it slower?", "Why is Python slower?"),
    # demonstratives
    (TOWER, "Who designed that tower?", "Who designed the Eiffel Tower?"),
    (TOWER, "What else happened in that year?", "What else happened in that year (1889)?"),
    (DRUG, "What are the side effects of that?", "What are the side effects of ibuprofen?"),
    (DRUG, "Is this drug addictive?", "Is this drug (ibuprofen) addictive?"),
    (RISOTTO, "How many calories does that have?", "How many calories does risotto have?"),
    (LEASE, "Does it need a notice period?", "Does my lease need a notice period?"),
    (NORWAY, "What is that city known for?", "What is that city (Oslo) known for?"),
    # definite phrases
    (TOWER, "Is the tower open at night?", "Is the Eiffel Tower open at night?"),
    (DRUG, "What are the side effects?", "What are the side effects of ibuprofen?"),
    (DRUG, "Are there any alternatives?", "Are there any alternatives to ibuprofen?"),
    (PYTHON, "what is the syntax", "what is the syntax of a Python decorator"),
    # options
    (PLANS, "How much is the second one?", "How much is Plus?"),
    (PLANS, "What does the last one cost?", "What does Pro cost?"),
    (PLANS, "Is option 1 enough for me?", "Is Basic enough for me?"),
    (PLANS, "Which one has support?", "Which of Basic, Plus and Pro has support?"),
    (PLANS, "Compare the first two", "Compare Basic and Plus"),
    (PLANS, "Is there a cheaper one?", "Is there a cheaper plan?"),
    (CHEESES, "Is the second one a blue cheese?", "Is gorgonzola a blue cheese?"),
    (FUNDS, "What are the risks of the former?", "What are the risks of an index fund?"),
    (FUNDS, "And the fees of the latter?", "And the fees of a savings bond?"),
    (FUNDS, "Are both taxed?", "Are an index fund and a savings bond taxed?"),
    (VISA, "How long is option b valid?", "How long is a study permit valid?"),
    (STEPS, "Why is the second step necessary?", "Why is Wait ten seconds necessary?"),
    (BACK, "and the third?", "and Bridges?"),
    (BACK, "what muscles does the last exercise work", "what muscles does Bridges work"),
    (OPTIONS, "tell me more about the latter", "tell me more about RSUs"),
    (OPTIONS, "Which are taxed more?", "Which of stock options and RSUs are taxed more?"),
    # ellipsis
    (IRA, "What about a 401k?", "Is a 401k legal?"),
    (SNAP, "And in Texas?", "Does the SNAP program cover hot food in Texas?"),
    (OSLO, "And in winter?", "How cold is Oslo in winter?"),
    (OSLO, "What about Bergen?", "How cold is Bergen in summer?"),
    (OSLO, "how about in july?", "How cold is Oslo in july?"),
    (MUSEUM, "Why?", "Why is the Louvre closed on Tuesdays?"),
    (MUSEUM, "since when?", "Since when is the Louvre closed on Tuesdays?"),
    (LISA, "When?", "Who painted the Mona Lisa, and when?"),
    (DRUG, "Any side effects?", "Any side effects of ibuprofen?"),
    (DRUG, "What else should I know?", "About ibuprofen: what else should I know?"),
    (RISOTTO, "how many calories?", "About risotto: how many calories?"),
    (SHARKS, "And great white sharks?", "What do great white sharks eat?"),
    # turns and times
    (LONG, "Going back to the Eiffel Tower, who built it?", "Going back to the Eiffel Tower, who built it?"),
    (
        LONG,
        "Repeat the answer to my first question.",
        "Repeat the answer to my first question (How high is the Eiffel Tower?).",
    ),
    (LONG, "Where is the tower you mentioned?", "Where is the Eiffel Tower you mentioned?"),
    (
        LONG,
        "Can you explain your last answer?",
        "Can you explain your last answer (Who designed the Sagrada Familia?)?",
    ),
    (TOWER, "What stood there before that?", "What stood in the Eiffel Tower before 1889?"),
    (TOWER, "Has it been painted since then?", "Has the Eiffel Tower been painted since 1889?"),
]

UNTOUCHED = [
    (RAIN, "Is it raining in Bergen today?"),
    (RAIN, "Is it safe to eat raw oysters?"),
    (RAIN, "How long does it take to learn Norwegian?"),
    (RAIN, "What time is it in Tokyo?"),
    (RAIN, "Is it true that bats are blind?"),
    (DRUG, "I read that aspirin thins the blood."),
    (DRUG, "Which drugs that lower fever are safe for children?"),
    (DRUG, "Is aspirin so strong that it causes bleeding?"),
    (TOWER, "Which concerts are in Paris this year?"),
    (TOWER, "What are people in Paris wearing these days?"),
    (PLANS, "How many people can use one account?"),
    (PLANS, "What is the number one cause of data loss?"),
    (PLANS, "Who won the second season of MasterChef?"),
    (LISA, "What is Notre-Dame and why is it famous?"),
    (LISA, "Does Ohio tax its farmers?"),
    (LISA, "Why did Picasso change his style?"),
    (OSLO, "Is there a train from Paris to Lyon?"),
    (OSLO, "What is the population of Sweden?"),
    (OSLO, "How did the Roman Empire fall?"),
    (PYTHON, "What is the difference between a list and a tuple?"),
    (MESSI, "Thank you!"),
    (LEASE, "Hello"),
    (LEASE, "What is the world made of?"),
    (LEASE, "Kubernetes"),
    (LEASE, "¿Y en invierno?"),
    (LEASE, "Et pourquoi est-il fermé ?"),
    (LEASE, "und wie alt ist er"),
    (LEASE, "なぜですか？"),
    (LEASE, "¿Dónde está la segunda?"),
]
