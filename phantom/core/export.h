// SPDX-License-Identifier: Apache-2.0
// A stand-in library exports two kinds of names. PHANTOM_ENTRY is a function of the library that it
// stands in for, under that library's own C name. PHANTOM_CORE is what the stand-ins share. It
// lives in libmemtape_phantom.so, so that memory, streams and captures are one and the same for the
// runtime, the driver and the libraries above them. Everything else is hidden.
#pragma once

#define PHANTOM_ENTRY extern "C" __attribute__((visibility("default")))
#define PHANTOM_CORE __attribute__((visibility("default")))
