# SPDX-License-Identifier: Apache-2.0
"""detectors.py NAME: transformers' detectors and prompted segmenters, three steps."""
import sys

import torch
import transformers

pixels = torch.randn(2, 3, 128, 128, device="cuda")
labels = [{"class_labels": torch.tensor([1, 3], device="cuda"), "boxes": torch.rand(2, 4, device="cuda") / 2} for _ in range(2)]


def rt_detr():
    backbone = transformers.RTDetrResNetConfig(embedding_size=16, hidden_sizes=[16, 32, 64, 128], depths=[1, 1, 1, 1], layer_type="basic",
                                               out_features=["stage2", "stage3", "stage4"])
    model = transformers.RTDetrForObjectDetection(transformers.RTDetrConfig(
        backbone_config=backbone, use_timm_backbone=False, backbone=None, encoder_in_channels=[32, 64, 128], encoder_hidden_dim=64, d_model=64,
        num_queries=20, decoder_layers=2, decoder_attention_heads=4, encoder_attention_heads=4, encoder_ffn_dim=128, decoder_ffn_dim=128,
        num_denoising=8, num_labels=5, decoder_in_channels=[64, 64, 64]))
    return model, lambda: model(pixel_values=pixels, labels=labels).loss


def sam():
    config = transformers.SamConfig(vision_config=transformers.SamVisionConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, image_size=128,
                                                                              patch_size=16, output_channels=32, window_size=4, global_attn_indexes=[1], mlp_dim=128, num_pos_feats=16),
                                    prompt_encoder_config=transformers.SamPromptEncoderConfig(hidden_size=32, image_size=128, patch_size=16),
                                    mask_decoder_config=transformers.SamMaskDecoderConfig(hidden_size=32, mlp_dim=64, num_attention_heads=4, iou_head_hidden_dim=32))
    model = transformers.SamModel(config)
    wanted = torch.rand(2, 1, 32, 32, device="cuda").round()

    def loss():
        made = model(pixel_values=pixels, input_points=torch.rand(2, 1, 2, 2, device="cuda") * 128, multimask_output=False)
        return torch.nn.functional.binary_cross_entropy_with_logits(made.pred_masks.squeeze(1), wanted)
    return model, loss


def dinov2():
    model = transformers.Dinov2ForImageClassification(transformers.Dinov2Config(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, image_size=126,
                                                                               patch_size=14, num_labels=5))
    return model, lambda: model(pixels[..., :126, :126], labels=torch.tensor([1, 2], device="cuda")).loss


def grounding():
    model = transformers.OwlViTForObjectDetection(transformers.OwlViTConfig(
        text_config={"vocab_size": 200, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4},
        vision_config={"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 128, "patch_size": 16},
        projection_dim=64))
    words = {"input_ids": torch.randint(1, 199, (4, 16), device="cuda"), "attention_mask": torch.ones(4, 16, dtype=torch.long, device="cuda")}
    return model, lambda: model(pixel_values=pixels, **words).pred_boxes.square().mean() + model(pixel_values=pixels, **words).logits.clamp(-9, 9).mean()


model, loss = globals()[sys.argv[1]]()
model = model.cuda().train()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    loss().backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    optimizer.step()
    optimizer.zero_grad()
