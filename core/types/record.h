// Record lies in the target room, where the execution room can use it too.
#pragma once

#include "core/target/record.h"
