#include "core/target/target.h"
