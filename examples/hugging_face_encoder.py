"""A Hugging Face encoder trained with a graph: its tokens go through the loader as a mapping of arrays."""

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from torch import Tensor, nn
from transformers import BertConfig, BertModel

import ngm
from ngm.build import text_graph
from ngm.datasets import few_labels

TOPICS = [  # made-up texts: words of their topic among words of any
    "simmer onion butter dough oven bread salt soup pan fry knead bake garlic broth recipe spoon",
    "sail anchor harbour tide mast rope deck keel wind boat hull captain wave shore port knot",
    "violin choir chord piano melody string tune flute drum tempo opera singer rhythm note bass harp",
    "soil seed rose lawn prune weed compost tulip hedge spade shrub bulb bloom fern orchard moss",
]
COMMON = "the a of and in with on for from it is was this that then over under again often some"
rng = np.random.default_rng(0)
topic = rng.integers(len(TOPICS), size=800)
texts = [" ".join([*rng.choice(TOPICS[t].split(), 3), *rng.choice(COMMON.split(), rng.integers(4, 12))]) for t in topic]

tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))  # or AutoTokenizer.from_pretrained(...)
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
trainer = trainers.WordLevelTrainer(special_tokens=["[PAD]", "[UNK]"], show_progress=False)
tokenizer.train_from_iterator(texts[:600], trainer)
tokenizer.enable_padding()


def tokens_of(some: list[str]) -> dict[str, np.ndarray]:
    """{name: (n, length)}, as the encoder takes them."""
    ids, mask = zip(*[(text.ids, text.attention_mask) for text in tokenizer.encode_batch(some)], strict=True)
    return {"input_ids": np.array(ids), "attention_mask": np.array(mask)}


class Encoder(nn.Module):
    """A tiny BERT, its outputs averaged over the tokens, and a linear layer on top."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
        config = BertConfig(vocab_size=tokenizer.get_vocab_size(), **sizes)
        self.bert = BertModel(config)  # or AutoModel.from_pretrained(...)
        self.output = nn.Linear(64, out_features)

    def forward(self, tokens: dict[str, Tensor]) -> Tensor:
        """{name: (b, length)} -> (b, out_features); what goes into the last layer is h."""
        mask = tokens["attention_mask"][:, :, None]
        found = self.bert(**tokens).last_hidden_state * mask  # (b, length, 64)
        logits: Tensor = self.output(found.sum(dim=1) / mask.sum(dim=1))
        return logits


known, new = tokens_of(texts[:600]), tokens_of(texts[600:])
y = few_labels(topic[:600], 2, seed=0)  # two labels a topic, -1 elsewhere
graph = text_graph(texts[:600], k=5)
for name, graphs, epochs in [("without graph", [], 50), ("with graph", [graph], 10)]:  # about as many steps
    model = ngm.NGMClassifier(network=Encoder, recipe="paper", epochs=epochs).fit(known, y, graph=graphs)
    print(f"{name:13} {model.score(new, topic[600:]):.3f}")
