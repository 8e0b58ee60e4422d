# SPDX-License-Identifier: Apache-2.0
"""Which of torch's functions are followed, and how. Views need no following: they share their base's storage, and so its twin.
What is not named here gives tensors without a twin: unknown, never wrong."""

# The same function on the twins. Those that exist as a method, too, are followed there.
PURE = """
abs absolute add addcdiv addcmul all amax amin aminmax any asarray as_tensor atan2 bitwise_and bitwise_left_shift
bitwise_not bitwise_or bitwise_right_shift bitwise_xor block_diag broadcast_tensors bucketize cartesian_prod cat ceil clamp clamp_max
clamp_min clip clone combinations complex concat concatenate contiguous cos count_nonzero cross cummax cummin cumprod cumsum deg2rad
diag diag_embed diagflat diff div divide dot einsum eq erf exp exp2 expm1 fix flip fliplr flipud floor floor_divide fmax fmin
fmod frac gather ge gcd greater greater_equal gt hstack dstack vstack hypot index_add index_copy index_fill index_select isclose
isfinite isin isinf isnan isneginf isposinf kron kthvalue lcm le lerp less less_equal log log10 log1p log2 logaddexp
logical_and logical_not logical_or logical_xor logsumexp lt masked_fill masked_scatter matmul max masked_select maximum mean median min minimum mm bmm
mode mul multiply nan_to_num ne neg negative nextafter norm not_equal outer pow prod quantile rad2deg reciprocal
relu remainder renorm repeat roll rot90 round rsqrt rsub scatter scatter_add scatter_reduce searchsorted sgn sigmoid sign
signbit sin sinh softmax log_softmax sqrt square stack std sub subtract sum take take_along_dim tan tanh tile trapz tril triu
true_divide trunc unflatten var where xlogy histc logit repeat_interleave
rand_like randn_like randint_like
bernoulli
""".split()
METHODS = """
to cuda int long bool float half bfloat16 double short char byte type type_as new_tensor index_put
__add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ __floordiv__ __rfloordiv__ __mod__ __rmod__ __pow__ __rpow__
__neg__ __abs__ __invert__ __and__ __rand__ __or__ __ror__ __xor__ __rxor__ __lshift__ __rshift__ __eq__ __ne__ __lt__ __le__ __gt__
__ge__ __matmul__
""".split()
# Made of sizes and numbers alone.
MADE = """
arange range linspace logspace zeros ones full eye tril_indices triu_indices tensor scalar_tensor rand randn randint randperm
normal hann_window hamming_window
""".split()
# Made of numbers in lists, some of which may be tensors.
FROM_LISTS = "tensor as_tensor asarray new_tensor".split()
# Memory that nobody has written: zeros are as good as anything else.
EMPTY = "empty empty_like empty_strided new_empty new_empty_strided".split()
# Made of one value and another's shape.
FILLED = "ones_like zeros_like full_like new_ones new_zeros new_full".split()
# The first argument is changed.
IN_PLACE = """
abs_ add_ addcdiv_ addcmul_ bitwise_and_ bitwise_not_ bitwise_or_ bitwise_xor_ ceil_ clamp_ clamp_max_ clamp_min_ clip_ cumprod_
cumsum_ div_ divide_ eq_ exp_ fill_diagonal_ floor_ floor_divide_ fmod_ ge_ gt_ index_add_ index_copy_ index_fill_ index_put_ le_
lerp_ logical_and_ logical_not_ logical_or_ logical_xor_ lt_ masked_fill_ masked_scatter_ mul_ multiply_ nan_to_num_ ne_ neg_
negative_ pow_ reciprocal_ relu_ remainder_ round_ rsqrt_ scatter_ scatter_add_ scatter_reduce_ sigmoid_ sign_ sqrt_ square_ sub_
subtract_ tanh_ tril_ triu_ true_divide_ trunc_ put_
__iadd__ __isub__ __imul__ __itruediv__ __idiv__ __ifloordiv__ __imod__ __ipow__ __iand__ __ior__ __ixor__ __ilshift__ __irshift__
""".split()
# The first argument's old content does not matter.
OVERWRITE = "fill_ zero_ copy_ random_ bernoulli_ normal_ uniform_".split()
# torch reads device memory inside the op: the twins go first.
READ_INSIDE = "equal allclose is_nonzero".split()
# torch checks device memory inside the function: istft, whether windows leave a hole.
CHECKED = ["istft"]
# An index that must exist, whatever the values are.
CHOOSE = "topk argmax argmin argsort sort msort multinomial max min kthvalue median mode cummax cummin".split()
# What depends on chance is drawn from our own seed, so that the program's generators stay as they are.
RANDOM = "rand randn randint randperm rand_like randn_like randint_like normal bernoulli random_ bernoulli_ normal_ uniform_ multinomial".split()
# What weights and chance have a part in: a router's choice among such values is spread evenly.
DRAWN = "rand randn rand_like randn_like normal normal_ uniform_ matmul mm bmm einsum __matmul__".split()
# Truths about values that nobody knows.
COMPARED = "eq ne lt le gt ge greater greater_equal less less_equal not_equal isclose __eq__ __ne__ __lt__ __le__ __gt__ __ge__".split()
# A size or a count that nobody knows is as small as it may be.
BOUNDED = "clamp clamp_min clip".split()
FALSE = "isnan isinf isposinf isneginf any".split()
TRUE = "isfinite all".split()
# C functions behind torch.nn.functional: one_hot reads the highest class.
NN_READ_INSIDE, NN_PURE = ["one_hot"], ["pad"]
