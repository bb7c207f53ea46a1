#include "vif/vif.h"
