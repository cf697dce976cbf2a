/** `generators`, `transformers` and `validators`: those that are built in. Programs of others are not run, as in kubectl. */
import { CliError } from '#cli/cli-error.ts'
import type { FieldSpec } from './field-spec.ts'
import { generated } from './generators.ts'
import { type Item, identityOf, identityText } from './item.ts'
import type { GeneratorEntry, ImageEntry, PatchEntry, ReplacementEntry, SortOptions, Target } from './kustomization.ts'
import { ordered } from './order.ts'
import { mergePatched, patched } from './patches.ts'
import { replaced } from './replacements.ts'
import type { Transforming } from './transform.ts'
import { addAffix, addEntries, type SubjectMode, setImages, setNamespace, setReplicas } from './transformers.ts'

type Settings = {
  metadata?: { namespace?: string }
  fieldSpecs?: FieldSpec[]
  prefix?: string
  suffix?: string
  labels?: Record<string, string>
  annotations?: Record<string, string>
  unsetOnly?: boolean
  setRoleBindingSubjects?: SubjectMode
  replica?: { name: string; count: number }
  imageTag?: ImageEntry
  replacements?: ReplacementEntry[]
  paths?: string[]
  patches?: string
  target?: Target
  jsonOp?: string
  path?: string
  sortOptions?: SortOptions
} & PatchEntry

type Plugin = (settings: Settings, items: Item[], transforming: Transforming) => undefined | Promise<Item[]>

const transformerPlugins: Readonly<Record<string, Plugin>> = {
  PrefixTransformer: ({ prefix = '', fieldSpecs = [] }, items) => {
    addAffix(items, 'prefix', prefix, fieldSpecs)
  },
  SuffixTransformer: ({ suffix = '', fieldSpecs = [] }, items) => {
    addAffix(items, 'suffix', suffix, fieldSpecs)
  },
  NamespaceTransformer: ({ metadata, fieldSpecs = [], unsetOnly = false, setRoleBindingSubjects = 'defaultOnly' }, items) => {
    const { namespace = '' } = metadata ?? {}
    if (namespace !== '') setNamespace(items, { namespace, specs: fieldSpecs, unsetOnly, setRoleBindingSubjects })
  },
  LabelTransformer: ({ labels = {}, fieldSpecs = [] }, items) => {
    addEntries(items, labels, fieldSpecs)
  },
  AnnotationsTransformer: ({ annotations = {}, fieldSpecs = [] }, items) => {
    addEntries(items, annotations, fieldSpecs)
  },
  ReplicaCountTransformer: ({ replica, fieldSpecs = [] }, items) => {
    if (replica !== undefined) setReplicas(items, replica, fieldSpecs)
  },
  ImageTagTransformer: ({ imageTag, fieldSpecs = [] }, items) => {
    if (imageTag !== undefined) setImages(items, imageTag, fieldSpecs)
  },
  PatchTransformer: (settings, items, transforming) => patched(transforming, [settings], items),
  PatchJson6902Transformer: ({ jsonOp, ...settings }, items, transforming) =>
    patched(transforming, [jsonOp === undefined ? settings : { ...settings, patch: jsonOp }], items),
  PatchStrategicMergeTransformer: async ({ paths = [], patches }, items, transforming) => {
    const merged = await mergePatched(transforming, paths, items)
    return patches === undefined ? merged : patched(transforming, [{ patch: patches }], merged)
  },
  ReplacementTransformer: async ({ replacements = [] }, items, { host, directory }) => {
    await replaced(host, directory, replacements, items)
    return items
  },
  SortOrderTransformer: async ({ sortOptions }, items) => ordered(items, sortOptions ?? { order: 'fifo' }),
}

export async function pluginTransformed(transforming: Transforming, plugins: readonly Item[], given: readonly Item[]): Promise<Item[]> {
  let items = [...given]
  for (const plugin of plugins) {
    const run = isBuiltIn(plugin) ? transformerPlugins[plugin.object.kind ?? ''] : undefined
    if (run === undefined) throw refusal(plugin)
    items = (await run(plugin.object as unknown as Settings, items, transforming)) ?? items
  }
  return items
}

export async function pluginGenerated(
  { host, directory }: Transforming,
  plugins: readonly Item[],
  given: readonly Item[],
): Promise<Item[]> {
  let items = [...given]
  for (const plugin of plugins) {
    const kind = isBuiltIn(plugin) ? /^(ConfigMap|Secret)Generator$/.exec(plugin.object.kind ?? '')?.[1] : undefined
    if (kind !== 'ConfigMap' && kind !== 'Secret') throw refusal(plugin)
    const { metadata, ...settings } = plugin.object
    const entry = { ...settings, name: metadata?.name ?? '', ...(metadata?.namespace ? { namespace: metadata.namespace } : {}) }
    items = await generated(host, directory, kind, entry as GeneratorEntry, items)
  }
  return items
}

const isBuiltIn = ({ object }: Item): boolean => object.apiVersion === 'builtin'

const refusal = (plugin: Item): CliError =>
  new CliError(
    isBuiltIn(plugin)
      ? `unable to load builtin ${identityText(identityOf(plugin))}`
      : `external plugins disabled; unable to load external plugin '${identityOf(plugin).kind}'`,
  )
