#include "ops/core/registry.h"
int main() { return onward::registry().ops().empty(); }
