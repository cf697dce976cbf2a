/** What a kind declares of itself: one value in one file, read by everything that serves, stores or prints it. */
import type { UntypedKind } from '#api/custom-kinds/untyped-kind.ts'
import type { Kind } from '#api/kind.ts'
import type { Check } from '#api/meta/check.ts'
import type { NameRule } from '#api/meta/names.ts'
import type { V1ListMeta, V1ObjectMeta } from '#api/meta/v1/types.gen.ts'
import type { Steps } from '#base/steps.ts'

/** Any object of the API, in its JSON shape. What caches hand out is shared and frozen: never change it. */
export type KubernetesObject = {
  apiVersion?: string
  kind?: string
  metadata?: V1ObjectMeta
}

export type KubernetesList<T = KubernetesObject> = {
  apiVersion?: string
  kind?: string
  metadata?: V1ListMeta
  items: T[]
}

/** What the rules of a kind may ask of the server they run in. */
export type RuleContext = {
  /** RFC 3339, whole seconds, UTC. */
  now: string
  isEnabled(featureGate: string): boolean
  /** The group and version the request speaks, `events.k8s.io/v1`; a few rules hold for newer versions only. Absent: the stored one. */
  requestVersion?: string
  /** Absent where there are no namespaces to ask for; then nobody has a label. */
  labelsOfNamespace?(namespace: string): Readonly<Record<string, string>> | undefined
  /** Adds to the Warning header; absent when nobody would read it. */
  warn?(text: string): void
  /** Who makes the request; absent when the server writes on its own. */
  user?: {
    readonly name: string
    readonly uid?: string | undefined
    readonly groups: readonly string[]
    readonly extra: Readonly<Record<string, readonly string[]>>
  }
}

/** A function of objects that, as methods are, may be listed with those of other kinds. */
type UpdateTest<T, Result> = { of(next: T, prev: T): Result }['of']

/**
 * How one kind of write (to the object, or to a subresource of it) is brought into shape and validated.
 * `next` is private and may be changed in place; `prev` is the stored object, frozen.
 */
export type UpdateRules<T> = {
  /** Puts back what this write may not touch, the other of spec and status apart; drops what is switched off. Runs before validation. */
  prepareForUpdate?(next: T, prev: T, context: RuleContext): void
  /** Reports what is wrong with going from `prev` to `next`. Metadata was validated before. */
  validateUpdate?(next: T, prev: T, check: Check<T>, context: RuleContext): void | Steps<void>
  /** Sentences for the Warning header. */
  warningsOnUpdate?(next: T, prev: T): string[]
  /**
   * Metadata is validated once for all kinds, and most kinds validate it once more: clients see both. False for the few that do not,
   * and for those whose validateUpdate does so itself, in its own order.
   */
  revalidatesMetadata?: false
  /**
   * Paths that an apply through this endpoint never owns: `status`, `metadata.finalizers`, … Where there is a status subresource,
   * those of it and of the object follow from the split of spec and status, unless said otherwise.
   */
  resetFields?: readonly string[]
}

/** A kind that has these has the split: see meta/spec-and-status.ts. */
export type StatusRules<T> = UpdateRules<T> & {
  /** What else a write to the status leaves as it was: all of the metadata that users write, or these fields. Nothing unless said. */
  keepsMetadata?: 'all' | readonly (keyof V1ObjectMeta)[]
  /** Who creates an object may give it a status: nodes come with theirs. */
  isSetOnCreate?: true
  /** The gate without which a write to the object writes its status as well. */
  splitGate?: string
}

export type ColumnType = 'string' | 'integer' | 'number' | 'boolean' | 'date'

export type Cell = string | number | boolean | null | readonly string[]

/** A column of the kind's table. */
export type Column<T> = {
  name: string
  type: ColumnType
  /** `name` marks the column clients take for the object's name. */
  format?: string
  /** Columns above 0 are shown with `-o wide` only. */
  priority?: number
  /** The field whose description is this column's (`ObjectMeta.name`), or the text itself. */
  description: { field: string } | string
  cell(object: T, moment: { nowMs: number }): Cell
}

/** What a row of the table tells beside its cells. */
export type RowCondition = { type: string; status: string; reason?: string; message?: string }

/** How the scale subresource reads and writes the object. */
export type ScaleRules<T> = {
  /** Why the object has no scale, as the text of a 500. */
  unscalable?(object: T): string | undefined
  /** Where the replicas are, if not at `spec.replicas`. */
  replicasPath?: string
  replicas(object: T): number
  setReplicas(object: T, replicas: number): void
  statusReplicas(object: T): number
  /** The selector in its string form. */
  selector(object: T): string
}

export type Subresources<T> = {
  status?: StatusRules<T>
  scale?: ScaleRules<T>
  /** Further endpoints that take and give the whole object under rules of their own: approval, finalize, resize, … */
  [name: string]: UpdateRules<T> | StatusRules<T> | ScaleRules<T> | undefined
}

/** A served version that is stored as another one. Both directions get a private copy and may change and return it. */
export type StoredAs = {
  // biome-ignore lint/suspicious/noExplicitAny: a definition of any kind may be the stored one
  definition: ResourceDefinition<any>
  // biome-ignore lint/suspicious/noExplicitAny: the shapes are those of two kinds
  toStored(object: any): any
  /** As `toStored`, in steps. Absent where the conversion is none that takes long. */
  // biome-ignore lint/suspicious/noExplicitAny: the shapes are those of two kinds
  storing?(object: any): Steps<any>
  // biome-ignore lint/suspicious/noExplicitAny: the shapes are those of two kinds
  fromStored(object: any): any
}

/** A kind that is no resource of its own. */
export type KindOfType = { group: string; version: string; kind: string; schema: string }

export type Deprecation = {
  /** What users are told, where it does not follow from the rest. */
  warning?: string
  /** `v1.16`-style minor versions without patch: '1.16'. */
  deprecatedIn: string
  removedIn?: string
  /** `apps/v1 Deployment`; absent where there is none. */
  replacement?: string
}

/** How objects of a kind are served, brought into shape, validated, stored and printed. */
export type ResourceRules<T extends KubernetesObject = KubernetesObject> = UpdateRules<T> & {
  /** Where objects lie in the store if not under the plural name: `services/specs`, `minions`, … */
  storagePath?: string
  /** The gate that must be on for the kind to be served. */
  featureGate?: string
  deprecated?: Deprecation
  storedAs?: StoredAs
  /** Of kinds whose type is told at run time, where `schema` is empty. */
  untyped?: UntypedKind
  /** The Scale that the scale subresource of this version speaks; that of autoscaling/v1 unless said otherwise. */
  scaleKind?: KindOfType
  /** Subresources that take a POST of another kind, by name. Another version of the kind need not have them. */
  actions?: Readonly<Record<string, KindOfType>>

  /** Fills in what the user left out. Runs on decoded objects, before admission, and on objects read from old stores. */
  defaults?(object: T): void
  /** What a name must look like; a DNS subdomain unless said otherwise. */
  nameRule?: NameRule
  /**
   * Finalizers need a domain (or be one of the three old ones), unless any name is fine. Validated on create; on update only by
   * kinds that validate all of their metadata again.
   */
  finalizers?: 'qualified' | 'any'
  /** Clears what a creator may not set (the status is gone by then), gives the first status. */
  prepareForCreate?(object: T, context: RuleContext): void
  /** Reports what is wrong with the object as it stands, on create; at once, or in steps. Metadata was validated before. */
  validate?(object: T, check: Check<T>, context: RuleContext): void | Steps<void>
  warningsOnCreate?(object: T): string[]
  /** The last touches to a new object, after it was validated and before it is stored. */
  settle?(object: T): void

  /**
   * What makes `metadata.generation` count, from 1 at creation: `spec` is anything outside metadata and status.
   * Absent or false: it does not count.
   */
  generation?: false | 'spec' | UpdateTest<T, boolean>
  /** A PUT to a name that does not exist creates it. */
  allowCreateOnUpdate?: boolean
  /** A PUT without resourceVersion overwrites; otherwise it is refused. */
  allowUnconditionalUpdate?: boolean
  /** What happens to dependents when the deleter does not say; kinds that never have any do not support a choice. */
  defaultPropagation?: 'Background' | 'Orphan' | 'Unsupported'
  /** What those are told who delete without saying what becomes of dependents. */
  unspecifiedPropagationWarning?: string
  /** Why the object of this name can never be deleted, for the few of which that is so: the reason of a 403. */
  deletionForbidden?(name: string): string | undefined
  /** Why no object can be created at present: the reason of a 403. */
  creationForbidden?(): string | undefined
  /** A delete answers with the object as it was, not with a Status. */
  returnsDeletedObject?: boolean
  /** Seconds of grace a delete without gracePeriodSeconds gets, for kinds that are deleted gracefully (pods). */
  gracePeriodSeconds?(object: T): number
  /** Settles what a graceful delete does to the object; returns the grace in force (0 deletes at once). */
  prepareForDelete?(object: T, requestedSeconds: number | undefined): number

  /** Annotations that are fields to upstream's own eyes: they do not show where metadata alone is shown. */
  derivedAnnotations?: readonly string[]
  columns?: readonly Column<T>[]
  /** Clients grey out what has completed. */
  rowConditions?(object: T): readonly RowCondition[]
  /** Beyond `metadata.name` and `metadata.namespace`. They read the stored object, and so do columns, whatever version is served. */
  fieldSelectors?: Readonly<Record<string, { of(object: T): string }['of']>>
  /** Field selectors that are accepted under another name, or fields of another version. */
  subresources?: Subresources<T>
}

export type ResourceDefinition<T extends KubernetesObject = KubernetesObject> = Kind<T> & ResourceRules<T>

/** Attaches the rules of the server to a kind. `T & {}` takes the type from the kind alone; NoInfer would hide it from Check's types. */
export function defineResource<T extends KubernetesObject>(kind: Kind<T>, rules: ResourceRules<T & {}>): ResourceDefinition<T> {
  return { ...rules, ...kind }
}
