/** What single resources do beside storing their objects, by `group/plural`. */
import { namespaceHooks } from '#apiserver/registry/namespace-deletion.ts'
import type { RegistryHooks } from '#apiserver/registry/resource-registry.ts'

export function registryHooks(services: RegistryHooks): ReadonlyMap<string, RegistryHooks> {
  return new Map<string, RegistryHooks>([
    ['/services', services],
    ['/namespaces', namespaceHooks],
  ])
}
