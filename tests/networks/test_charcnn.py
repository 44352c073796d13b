"""Character networks: shapes and parameter counts of the papers, and equality with the padded one-hot network."""

from __future__ import annotations

from itertools import combinations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ngm.networks import charcnn
from ngm.networks.charcnn import SIZES, CharCNNModule
from ngm.networks.first_layer import FirstLayer
from ngm.networks.tap import tap
from ngm.text.characters import quantize
from ngm.training import seeded


def padded(network: CharCNNModule, codes: Tensor) -> Tensor:
    """The same network over one-hot columns of all positions, with plain convolutions."""
    codes = F.pad(codes, (0, network.length - codes.shape[1])).long()
    x = F.one_hot(codes, 71)[..., 1:].to(network.first.weight.dtype).transpose(1, 2)  # (b, 70, length)
    weights = [(network.first.weight, network.first.bias)]
    weights += [(convolution.weight[:, :, 0], convolution.bias) for convolution in network.convolutions]
    for (weight, bias), pooled in zip(weights, network.size.pooled, strict=True):
        x = F.relu(F.conv1d(x, weight, bias))
        x = F.max_pool1d(x, 3) if pooled else x
    x = x.flatten(1)
    for layer in network.hidden:
        x = F.relu(layer(x))
    return network.output(x)


def some_codes(count: int, longest: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(0, longest + 1, (count,), generator=generator)
    lengths[:2] = torch.tensor([0, longest])
    texts = ["".join(chr(97 + (7 * i + i * i) % 29) for i in range(int(n))) for n in lengths]  # blanks among letters
    return quantize(texts, longest)[:]


def gradients(network: nn.Module, logits: Tensor) -> list[Tensor]:
    network.zero_grad()
    (logits * torch.linspace(-1, 1, logits.numel()).view_as(logits)).sum().backward()
    return [p.grad.clone() for p in network.parameters() if p.grad is not None]


@pytest.mark.parametrize(("size", "longest"), [("tiny", 1014), ("tiny", 240), ("small", 200)])
def test_texts_seen_only_as_far_as_they_go_give_the_outputs_of_the_padded_network(size: str, longest: int) -> None:
    with seeded(0):
        network = CharCNNModule(4, size).double().eval()
        if size == "small":  # at 0, blanks are at the kink of ReLU, and rounding would decide on their gradient
            for name, parameter in network.named_parameters():
                parameter.data += 0.1 * torch.randn_like(parameter) * name.endswith("bias")
    codes = some_codes(9 if size == "small" else 150, longest)
    ours, theirs = network(codes), padded(network, codes)
    assert torch.allclose(ours, theirs, rtol=0, atol=1e-10)
    for mine, plain in zip(gradients(network, ours), gradients(network, theirs), strict=True):
        assert torch.allclose(mine, plain, rtol=1e-9, atol=1e-12)


def test_in_float32_both_agree_to_1e_5() -> None:
    with seeded(0):
        network = CharCNNModule(4).eval()
    codes = some_codes(100, 600)
    assert torch.allclose(network(codes), padded(network, codes), rtol=0, atol=1e-5)


def test_a_text_gets_the_same_logits_in_any_company_and_with_any_padding() -> None:
    with seeded(0):
        network = CharCNNModule(3).double().eval()
    codes = some_codes(130, 500)
    together = network(codes)
    for i in (0, 1, 64, 129):
        assert torch.allclose(network(F.pad(codes[i : i + 1], (0, 514))), together[i : i + 1], rtol=0, atol=1e-12)


@pytest.mark.parametrize(("frames", "pool"), [(8, 1), (65, 3), (300, 3)])  # 300: more than are looked up together
def test_the_first_layer_is_a_convolution_over_one_hot_columns_pooled(frames: int, pool: int) -> None:
    layer = FirstLayer(70, frames, 7, pool).double()
    generator = torch.Generator().manual_seed(1)
    for parameter in layer.parameters():
        nn.init.normal_(parameter, generator=generator)
    codes = torch.randint(0, 71, (5, 40), generator=generator, dtype=torch.uint8)
    columns = F.one_hot(codes.long(), 71)[..., 1:].double().transpose(1, 2)
    plain = F.relu(F.max_pool1d(F.conv1d(columns, layer.weight, layer.bias), pool))[:, :, None]
    ours = layer(codes)
    assert torch.allclose(ours, plain, rtol=0, atol=1e-12)
    assert torch.allclose(layer.convolution(codes), plain, rtol=0, atol=1e-12)
    for mine, theirs in zip(gradients(layer, ours), gradients(layer, plain), strict=True):
        assert torch.allclose(mine, theirs, rtol=1e-10, atol=1e-12)


def test_a_weight_that_is_nan_is_not_lost_in_pooling() -> None:
    layer = FirstLayer(70, 20, 7, 3)
    nn.init.ones_(layer.weight)
    nn.init.zeros_(layer.bias)
    layer.weight.data[4, 9, 0] = torch.nan  # of the tenth character, where it is the first of seven
    codes = torch.ones(1, 15, dtype=torch.uint8)
    codes[0, 4] = 10  # in the second of three pooled positions
    assert layer(codes)[0, :, 0].isnan().nonzero().tolist() == [[4, 1]]


@pytest.mark.parametrize(
    ("size", "count"),
    [
        # 7 * 70 * 32 + 32, twice 32 * 32 * kernel + 32, 36 frames * 32 * 256 + 256, 256 * 256 + 256, 4 * 256 + 4
        ("tiny", 15_712 + 7_200 + 3_104 + 295_168 + 65_792 + 1_028),
        # 34 frames at the end, as in Zhang et al.: 8,704 inputs of the first fully connected layer
        ("small", 125_696 + 459_008 + 4 * 196_864 + 8_704 * 1024 + 1024 + 1024 * 1024 + 1024 + 4_100),
        ("large", 502_784 + 7_341_056 + 4 * 3_146_752 + 34_816 * 2048 + 2048 + 2048 * 2048 + 2048 + 8_196),
    ],
)
def test_the_networks_have_the_parameters_of_the_papers(size: str, count: int) -> None:
    with torch.device("meta"):
        network = CharCNNModule(4, size)
    assert sum(p.numel() for p in network.parameters()) == count


def test_final_frames_see_69_characters_in_the_tiny_network_and_123_in_the_others() -> None:
    assert [(SIZES[name].field, SIZES[name].stride) for name in SIZES] == [(69, 27), (123, 27), (123, 27)]
    assert [SIZES[name].num_frames(1014) for name in SIZES] == [36, 34, 34]  # 34 = (1014 - 96) / 27 in Zhang et al.


def test_small_and_large_begin_with_the_spread_of_zhang_et_al() -> None:
    with seeded(0):
        network = CharCNNModule(4, "small")
    weight = network.hidden[0].weight
    assert float(weight.detach().std()) == pytest.approx(0.05, rel=0.01)
    assert float(weight.detach().mean()) == pytest.approx(0, abs=1e-4)


def test_h_is_the_last_hidden_layer_behind_its_relu_and_before_its_dropout() -> None:
    network = CharCNNModule(4).train()
    _, read = tap(network, some_codes(20, 200), ["last_hidden"])
    h = read["last_hidden"]
    assert h.shape == (20, 256)
    assert bool((h >= 0).all())
    assert 0.2 < float((h == 0).float().mean()) < 0.8  # half is dropped only behind it


def test_no_texts_give_no_logits() -> None:
    assert CharCNNModule(3)(torch.zeros(0, 5, dtype=torch.uint8)).shape == (0, 3)


def test_the_network_learns_in_bfloat16_too() -> None:
    network, codes = CharCNNModule(3).bfloat16(), some_codes(4, 120)
    assert all(bool(torch.isfinite(g).all()) for g in gradients(network, network(codes).float()))
    wide = CharCNNModule(3)
    with torch.autocast("cpu", torch.bfloat16):
        assert all(bool(torch.isfinite(g).all()) for g in gradients(wide, wide(codes).float()))


def test_dropout_leaves_predictions_alone() -> None:
    network, codes = CharCNNModule(4).eval(), some_codes(5, 100)
    assert torch.equal(network(codes), network(codes))
    network.train()
    assert not torch.equal(network(codes), network(codes))


def test_same_seed_gives_the_same_steps() -> None:
    def trained() -> Tensor:
        with seeded(3):
            network = CharCNNModule(2)
            steps = torch.optim.Adam(network.parameters())
            for _ in range(3):
                steps.zero_grad()
                F.cross_entropy(network(some_codes(70, 300)), torch.arange(70) % 2).backward()
                steps.step()
        return network.hidden[0].weight.detach()

    assert torch.equal(trained(), trained())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: CharCNNModule(4, "tinny"),
            "unknown size 'tinny' \\(did you mean 'tiny'\\?\\); choose from tiny, small, large",
        ),
        (lambda: CharCNNModule(4, length=60), "length is 60; size 'tiny' needs at least 69 characters"),
        (
            lambda: CharCNNModule(4)(torch.full((2, 90), 71)),
            "codes are from 0 to 71; give 0 for blank and 1 to 70 for the characters of the alphabet",
        ),
        (lambda: CharCNNModule(4)(torch.full((2, 90), -1)), "codes are from -1 to -1; give 0 for blank"),
        (
            lambda: CharCNNModule(4, length=100)(torch.zeros(1, 101, dtype=torch.uint8)),
            "texts have 101 characters; this network reads 100 at most",
        ),
    ],
)
def test_what_cannot_be_read_is_refused(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()  # type: ignore[operator]


@pytest.mark.parametrize("cost", [0.0, 3.0, 20.0, 1e9])
def test_groups_of_like_length_have_the_least_cost_of_all_cuts(cost: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charcnn, "_GROUP_COST", cost)
    generator = torch.Generator().manual_seed(0)
    needed = torch.randint(1, 7, (20,), generator=generator)
    order = torch.argsort(needed, stable=True)

    def total(groups: list[Tensor]) -> float:
        return sum(len(group) * int(needed[group].max()) + cost for group in groups)

    groups = list(charcnn._alike(order, needed))
    assert torch.equal(torch.cat(groups), order)
    places = [i for i in range(1, 20) if needed[order[i]] > needed[order[i - 1]]]
    every = [cut for count in range(len(places) + 1) for cut in combinations(places, count)]
    assert total(groups) == min(total(list(order.tensor_split(cut))) for cut in every)


def test_there_are_eight_groups_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charcnn, "_GROUP_COST", 0.0)
    assert [len(group) for group in charcnn._alike(torch.arange(16), torch.arange(1, 17))] == [2] * 8
    assert [len(group) for group in charcnn._alike(torch.arange(3), torch.ones(3).long())] == [3]


def test_wide_layers_take_fewer_products_unless_in_half_precision() -> None:
    with torch.device("meta"):
        assert CharCNNModule(4, "small")._filters() == []
    small = CharCNNModule(4, "small")
    assert [len(filter_.pieces) for filter_ in small._filters()] == [2, 1, 1, 1, 1]
    with torch.autocast("cpu", torch.bfloat16):
        assert small._filters() == []
    assert small.bfloat16()._filters() == []
    assert CharCNNModule(4, "tiny")._filters() == []
