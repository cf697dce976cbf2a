/** What single resources do beside storing their objects, by `group/plural`. */
import type { V1Namespace } from '#api/core/v1/types.gen.ts'
import type { RegistryHooks } from '#apiserver/registry/resource-registry.ts'

export function registryHooks(services: RegistryHooks): ReadonlyMap<string, RegistryHooks> {
  return new Map<string, RegistryHooks>([
    ['/services', services],
    // A namespace has a second list of finalizers, in its spec.
    ['/namespaces', { mayDeleteOnUpdate: (next) => ((next as V1Namespace).spec?.finalizers ?? []).length === 0 }],
  ])
}
