// SPDX-License-Identifier: Apache-2.0
#include "core/isolation/isolation.h"

#include "core/isolation/remote_instance.h"

namespace atalaya::core {

Result<std::unique_ptr<Instance>> make_instance(const Isolation &isolation, Registry::Component component, Parameters parameters,
                                                std::string label, Symbols &symbols, Surroundings &surroundings,
                                                Launcher *launcher) {
  if (!isolation.on) return Instance::create(std::move(component), std::move(parameters), std::move(label), symbols, surroundings);
  if (launcher == nullptr || component.plugin == nullptr) return Error{label + ": cannot be isolated here"};
  auto made = std::make_unique<RemoteInstance>(std::move(component), std::move(parameters), std::move(label), isolation, symbols,
                                               surroundings, *launcher);
  if (const Outcome created = made->create(); !created.ok()) return Error{created.text};
  return std::unique_ptr<Instance>(std::move(made));
}

}  // namespace atalaya::core
