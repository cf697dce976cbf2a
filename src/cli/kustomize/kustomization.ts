import type { FieldSpec } from './field-spec.ts'

export type Target = {
  group?: string
  version?: string
  kind?: string
  name?: string
  namespace?: string
  labelSelector?: string
  annotationSelector?: string
}
export type PatchEntry = {
  path?: string
  patch?: string
  target?: Target
  options?: { allowNameChange?: boolean; allowKindChange?: boolean }
}
export type GeneratorOptions = {
  labels?: Record<string, string>
  annotations?: Record<string, string>
  disableNameSuffixHash?: boolean
  immutable?: boolean
}
export type GeneratorEntry = {
  name: string
  namespace?: string
  behavior?: 'create' | 'replace' | 'merge'
  type?: string
  literals?: string[]
  files?: string[]
  envs?: string[]
  env?: string
  options?: GeneratorOptions
}
export type FieldOptions = { delimiter?: string; index?: number; create?: boolean }
export type ReplacementEntry = {
  path?: string
  sourceValue?: string
  source?: Target & { fieldPath?: string; options?: FieldOptions }
  targets?: { select?: Target; reject?: Target[]; fieldPaths?: string[]; options?: FieldOptions }[]
}
export type ImageEntry = { name: string; newName?: string; newTag?: string; digest?: string; tagSuffix?: string }
export type LabelEntry = {
  pairs: Record<string, string>
  includeSelectors?: boolean
  includeTemplates?: boolean
  fields?: FieldSpec[]
}
export type SortOptions = { order?: string; legacySortOptions?: { orderFirst?: string[]; orderLast?: string[] } }

export type VarEntry = {
  name: string
  objref: Target & { apiVersion?: string }
  fieldref?: { fieldpath?: string; fieldPath?: string }
}
export type HelmGlobals = { chartHome?: string }
export type HelmChart = {
  name: string
  repo?: string
  version?: string
  releaseName?: string
  namespace?: string
  nameTemplate?: string
  valuesFile?: string
  additionalValuesFiles?: string[]
  valuesInline?: Record<string, unknown>
  valuesMerge?: 'merge' | 'override' | 'replace'
  apiVersions?: string[]
  kubeVersion?: string
  includeCRDs?: boolean
  skipTests?: boolean
  skipHooks?: boolean
  debug?: boolean
  devel?: boolean
}

/** The file `kustomization.yaml`. */
export type Kustomization = {
  apiVersion?: string
  kind?: string
  resources?: string[]
  bases?: string[]
  components?: string[]
  namespace?: string
  namePrefix?: string
  nameSuffix?: string
  commonLabels?: Record<string, string>
  labels?: LabelEntry[]
  commonAnnotations?: Record<string, string>
  images?: ImageEntry[]
  imageTags?: ImageEntry[]
  replicas?: { name: string; count: number }[]
  patches?: PatchEntry[]
  patchesStrategicMerge?: string[]
  patchesJson6902?: PatchEntry[]
  configMapGenerator?: GeneratorEntry[]
  secretGenerator?: GeneratorEntry[]
  generatorOptions?: GeneratorOptions
  replacements?: ReplacementEntry[]
  vars?: VarEntry[]
  helmCharts?: HelmChart[]
  helmGlobals?: HelmGlobals
  sortOptions?: SortOptions
  /** `path`: an OpenAPI document that says how lists of kinds are merged. */
  openapi?: { path?: string; version?: string }
  /** Documents that say which fields of custom kinds hold names, labels and annotations. */
  crds?: string[]
  configurations?: string[]
  generators?: string[]
  transformers?: string[]
  validators?: string[]
  buildMetadata?: string[]
}
