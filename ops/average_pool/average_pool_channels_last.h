#pragma once

namespace onward {

class Registry;

void add_channels_last_average_pool(Registry& registry);

}  // namespace onward
