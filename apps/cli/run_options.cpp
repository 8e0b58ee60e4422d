// SPDX-License-Identifier: Apache-2.0
#include "run_options.h"

#include <array>

namespace memtape::cli {
namespace {

constexpr std::string_view kDevice = "Device", kProgram = "Program", kValues = "Values";

constexpr std::array kOptions{
    NamedOption{"gpu", "NAME", "kind of the phantom GPUs (h100-80gb; memtape gpus lists them)",
                kDevice},
    NamedOption{"gpus", "N", "how many there are (1)", kDevice},
    NamedOption{"gpu-memory-bytes", "N", "total memory of each, instead of the catalog's figure",
                kDevice},
    NamedOption{"context-bytes", "N", "memory of a CUDA context, instead of the catalog's figure",
                kDevice},
    NamedOption{"driver-placement", "{linux,first-fit}", "where the driver puts segments", kDevice},
    NamedOption{"rank", "R", "the program plays rank R alone; collectives succeed at once",
                kProgram},
    NamedOption{"world", "N", "of so many ranks", kProgram},
    NamedOption{"stop-after", "N", "end the program after N optimizer steps", kProgram},
    NamedOption{"steps", "N", "the same", kProgram},
    NamedOption{"history", "N", "allocator events that are kept for the tables (300000)", kProgram},
    NamedOption{"events", "{complete,wait}",
                "recorded events are done at once, or at the next synchronisation", kValues},
    NamedOption{"backing", "BYTES", "carry out copies and fills up to that size (0: none)",
                kValues},
    NamedOption{"values", "{steer,none}",
                "small tensors have their values on the host (steer), or every read gives zeros",
                kValues},
    NamedOption{"imbalance", "X",
                "routing that is invented: the fullest expert gets X times the mean (1)", kValues},
    NamedOption{"host-init", "{skip,real}",
                "large models built on the host keep no initial values (skip), or get them",
                kValues},
    NamedOption{"most-reads", "N",
                "end a program that reads the same value at one line so often, and gets no further "
                "(10000; 0: never)",
                kValues},
    NamedOption{"lone-byte", "B", "what a single byte read from the device is (1)", kValues},
};

}  // namespace

std::span<const NamedOption> run_options() { return kOptions; }

}  // namespace memtape::cli
