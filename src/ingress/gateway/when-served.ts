import { CustomResourceDefinition } from '#api/apiextensions/v1/kinds.gen.ts'
import type { V1CustomResourceDefinition } from '#api/apiextensions/v1/types.gen.ts'
import type { Kind } from '#api/kind.ts'
import { isConditionTrue } from '#api/meta/find-condition.ts'
import { Informer, type InformerOptions } from '#client/informer/informer.ts'

export type DefinitionWatch = Disposable & { readonly synced: Promise<void> }

/** Calls back once, when the kind is defined and served; it may be so already, or never. */
export function whenServed(
  kind: Kind,
  options: Pick<InformerOptions<V1CustomResourceDefinition>, 'client' | 'clock' | 'random' | 'logger'>,
  onServed: () => void,
): DefinitionWatch {
  const name = `${kind.plural}.${kind.group}`
  const definitions = new Informer({
    ...{ ...options, kind: CustomResourceDefinition, fieldSelector: `metadata.name=${name}`, forgetsManagers: true },
  })
  let isOver = false
  const look = ({ spec, status }: V1CustomResourceDefinition) => {
    const isServed = spec.versions.some(({ name: version, served }) => served && version === kind.version)
    if (isOver || !isServed || !isConditionTrue(status?.conditions, 'Established')) return
    isOver = true
    // The definition itself is large, and of no further use.
    definitions.stop()
    onServed()
  }
  definitions.addHandler({ onAdd: look, onUpdate: look })
  definitions.start()
  return { synced: definitions.synced, [Symbol.dispose]: () => definitions.stop() }
}
