import type { KubernetesObject } from '#api/resource.ts'
import type { UserInfo } from '#apiserver/authn/authenticator.ts'

import type { ServedVersion } from '#apiserver/registry/field-ownership.ts'

/** Who writes, and how: what a write needs to know beside the object. */
export type WriteContext = {
  readonly user: UserInfo
  /** As in the request's path; empty for cluster-scoped resources. */
  readonly namespace: string
  /** As in the request's path: what admission is told. */
  readonly resource: { readonly group: string; readonly version: string; readonly resource: string }
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string }
  readonly subresource: string
  /** Of the request; absent where the server writes on its own. */
  readonly verb?: string
  /** The version the writer speaks: managed fields name it. */
  readonly served: ServedVersion
  readonly isDryRun: boolean
  /** Who the fields belong to from now on. */
  readonly fieldManager: string
  /** CreateOptions and the like, for admission. */
  readonly options: Readonly<Record<string, unknown>>
  /** By the clock's `monotonic`: whoever is asked about the write has to answer until then. */
  readonly deadlineMs?: number | undefined
  /**
   * Lets others have their turn when this request has kept them waiting; undefined where it has not. Called between the steps of a
   * write, each of which may take long with a large object. Absent where the server writes on its own.
   */
  giveWay?(): Promise<void> | undefined
  warn(text: string): void
  annotateAudit(key: string, value: string, level?: 'Metadata' | 'Request'): void
  /** Admission is shown something else that stands for the object: a Scale. */
  readonly seen?: SeenByAdmission
  /** Writes of the server itself that must not be validated: bootstrap, quota usage. */
  readonly skipsAdmission?: boolean
  /** One of many that a request deletes: admission is not told which it names. */
  isOfMany?: boolean
}

export type SeenByAdmission = {
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string }
  of(object: KubernetesObject): KubernetesObject
  /** Does to the object what plugins have done to what they saw. */
  into(seen: KubernetesObject, object: KubernetesObject): void
}

export type Finish = (wasWritten: boolean) => void | Promise<void>
