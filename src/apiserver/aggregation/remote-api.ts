/** A group version that another server serves, as an APIService names it. */

import type { V1APIService } from '#api/apiregistration/v1/types.gen.ts'
import { isConditionTrue } from '#api/meta/find-condition.ts'
import type { ServiceReference } from '#apiserver/webhooks/service-routes.ts'
import { defined } from '#base/defined.ts'
import type { HttpClientOptions } from '#base/http-client.ts'
import { omitEmpty } from '#base/omit-empty.ts'

export type RemoteApi = {
  /** `v1alpha1.wardle.example.com` */
  readonly name: string
  readonly group: string
  readonly version: string
  readonly service: ServiceReference
  readonly groupPriority: number
  readonly versionPriority: number
  readonly isAvailable: boolean
  /** What its certificate must come from, and be for. */
  readonly connection: HttpClientOptions
}

/** Undefined for what this server serves itself. */
export function remoteApiOf({ metadata, spec, status }: V1APIService): RemoteApi | undefined {
  const service = spec?.service
  // Who may name other servers must be able to take that back.
  if (service == null || spec?.group === 'apiregistration.k8s.io') return undefined
  const { namespace = '', name = '', port = 443 } = service
  return {
    name: metadata.name ?? '',
    group: spec?.group ?? '',
    version: spec?.version ?? '',
    service: { namespace, name, port },
    groupPriority: spec?.groupPriorityMinimum ?? 0,
    versionPriority: spec?.versionPriority ?? 0,
    isAvailable: isConditionTrue(status?.conditions, 'Available'),
    connection: {
      serverName: `${name}.${namespace}.svc`,
      ...defined({ ca: spec?.caBundle ? Buffer.from(spec.caBundle, 'base64').toString('latin1') : undefined }),
      ...omitEmpty({ insecureSkipVerify: spec?.insecureSkipTLSVerify }),
    },
  }
}

/** Where it says what it serves; every server must have that. */
export function discoveryPath({ group, version }: Pick<RemoteApi, 'group' | 'version'>): string {
  return group === '' ? `/api/${version}` : `/apis/${group}/${version}`
}

/** The server: one often serves several versions. */
export const serviceOf = ({ service: { namespace, name, port } }: RemoteApi): string => `${namespace}/${name}:${port}`
