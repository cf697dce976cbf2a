/** APIServices that stand for servers in this process give way to others of their names. */
import { APIService } from '#api/apiregistration/v1/kinds.gen.ts'
import type { V1APIService } from '#api/apiregistration/v1/types.gen.ts'
import type { Registries } from '#apiserver/registry/registries.ts'
import { serverContext } from '#apiserver/registry/registries.ts'
import type { RegistryHooks } from '#apiserver/registry/registry-hooks.ts'

/** Says that nobody but this program has made the APIService. */
const builtInAnnotation = 'typernetes.dev/built-in'

const isBuiltIn = (object: V1APIService | undefined): boolean => object?.metadata.annotations?.[builtInAnnotation] === 'true'

/** Whoever installs a server of their own creates its APIService: they need not know that there was one before. */
export function builtInApiServiceHooks(registries: Registries): ReadonlyMap<string, RegistryHooks> {
  const hooks: RegistryHooks<V1APIService> = {
    async beginCreate(object) {
      const { name = '' } = object.metadata
      const registry = registries.of(APIService)
      const existing = (await registry.find('', name))?.object
      if (isBuiltIn(existing) && !isBuiltIn(object)) await registry.delete(name, {}, serverContext(registry.definition, ''))
      return undefined
    },
  }
  return new Map([[`${APIService.group}/${APIService.plural}`, hooks as RegistryHooks]])
}
