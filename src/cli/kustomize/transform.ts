/** The changes of one kustomization, in their order. */
import type { Host } from '#cli/host.ts'
import type { Item } from './item.ts'
import type { Kustomization } from './kustomization.ts'
import type { MergeForms } from './merge-form.ts'
import { mergePatched, patched } from './patches.ts'
import { replaced } from './replacements.ts'
import { mergedSpecs, type TransformerConfig } from './transformer-config.ts'
import { addAffix, addEntries, setImages, setNamespace, setReplicas } from './transformers.ts'

export type Transforming = { host: Host; directory: string; forms: MergeForms; config: TransformerConfig }

export async function transformed(transforming: Transforming, kustomization: Kustomization, given: readonly Item[]): Promise<Item[]> {
  const { host, directory, config } = transforming
  const { namespace = '', namePrefix = '', nameSuffix = '', labels = [], commonLabels = {}, commonAnnotations = {} } = kustomization
  let items = await mergePatched(transforming, kustomization.patchesStrategicMerge ?? [], given)
  items = await patched(transforming, kustomization.patches ?? [], items)
  if (namespace !== '') setNamespace(items, { namespace, specs: config.namespace })
  if (namePrefix !== '') addAffix(items, 'prefix', namePrefix, config.namePrefix)
  if (nameSuffix !== '') addAffix(items, 'suffix', nameSuffix, config.nameSuffix)
  for (const { pairs = {}, includeSelectors = false, includeTemplates = false, fields = [] } of labels) {
    const own = mergedSpecs(fields, config.labels)
    const specs = includeSelectors
      ? mergedSpecs(own, config.commonLabels)
      : mergedSpecs(includeTemplates ? mergedSpecs(own, config.templateLabels) : own, [{ path: 'metadata/labels', create: true }])
    addEntries(items, pairs, specs)
  }
  addEntries(items, commonLabels, config.commonLabels)
  addEntries(items, commonAnnotations, config.commonAnnotations)
  items = await patched(transforming, kustomization.patchesJson6902 ?? [], items)
  for (const entry of kustomization.replicas ?? []) setReplicas(items, entry, config.replicas)
  for (const image of [...(kustomization.images ?? []), ...(kustomization.imageTags ?? [])]) setImages(items, image, config.images)
  await replaced(host, directory, kustomization.replacements ?? [], items)
  return items
}
