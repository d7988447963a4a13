// Precompiled for every GoogleTest program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "cmake/pch_room.h"
