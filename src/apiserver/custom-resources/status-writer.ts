import { CustomResourceDefinition } from '#api/apiextensions/v1/kinds.gen.ts'
import type { V1CustomResourceDefinition } from '#api/apiextensions/v1/types.gen.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import type { FieldOwnership } from '#apiserver/registry/field-ownership.ts'
import { type Registries, serverContext } from '#apiserver/registry/registries.ts'

/** Writes what `change` makes of the definition, if it is still as given. Throws a conflict, or that it is gone. */
export type ChangeStatus = (
  definition: V1CustomResourceDefinition,
  change: (definition: V1CustomResourceDefinition) => V1CustomResourceDefinition,
) => Promise<void>

/** The server writes the status of definitions through the subresource, and owns what it writes, as everybody does. */
export function statusWriter({ registries, ownership }: { registries: Registries; ownership: FieldOwnership }): ChangeStatus {
  return async (definition, change) => {
    const registry = registries.of(CustomResourceDefinition)
    const context = serverContext(registry.definition, '', 'status')
    await registry.update(definition.metadata.name ?? '', context, {
      rules: {},
      async transform(prev) {
        const next = change(deepCopy(definition))
        await ownership.afterUpdate(prev, next, context)
        return next
      },
    })
  }
}
