/** Parameters of classes: those that Kubernetes reads, and those that are the driver's. */
import { Secret } from '#api/core/v1/kinds.gen.ts'
import type { V1PersistentVolumeClaim, V1SecretReference } from '#api/core/v1/types.gen.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Client } from '#client/client.ts'
import { DriverError } from '#controllers/volume-driver/driver-error.ts'

const prefix = 'csi.storage.k8s.io/'

export type SecretUse = 'provisioner' | 'controller-publish' | 'node-stage' | 'node-publish' | 'controller-expand' | 'node-expand'

/** What is left is for the driver. */
export function driverParameters(parameters: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(parameters).filter(([key]) => !key.startsWith(prefix)))
}

export const fsTypeOf = (parameters: Readonly<Record<string, string>> = {}): string =>
  parameters[`${prefix}fstype`] ?? parameters['fstype'] ?? 'ext4'

export type Names = { volume: string; claim?: V1PersistentVolumeClaim }

/** Undefined where the class names no secret for it. */
export function secretReference(
  parameters: Readonly<Record<string, string>> = {},
  use: SecretUse | 'snapshotter',
  names: Names,
): V1SecretReference | undefined {
  const name = parameters[`${prefix}${use}-secret-name`] ?? (use === 'provisioner' ? parameters['csiProvisionerSecretName'] : undefined)
  const namespace =
    parameters[`${prefix}${use}-secret-namespace`] ?? (use === 'provisioner' ? parameters['csiProvisionerSecretNamespace'] : undefined)
  if (name === undefined && namespace === undefined) return undefined
  if (!name || !namespace)
    throw new DriverError('final', `only one of name and namespace of the ${use} secret is given in the class: either both or none`)
  return { name: filledIn(name, names), namespace: filledIn(namespace, names) }
}

export async function secretData(reference: V1SecretReference | undefined, client: Pick<Client, 'get'>): Promise<Record<string, string>> {
  if (reference === undefined) return {}
  const { namespace = '', name = '' } = reference
  const secret = await client.get(Secret, namespace, name).catch((error: unknown) => {
    throw new DriverError('final', `error getting secret ${name} in namespace ${namespace}: ${errorMessage(error)}`, { cause: error })
  })
  return Object.fromEntries(Object.entries(secret.data ?? {}).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]))
}

function filledIn(template: string, { volume, claim }: Names): string {
  const { namespace = '', name = '', annotations = {} } = claim?.metadata ?? {}
  // One that nobody closes goes on to the end, so that it is looked for once.
  return template.replace(/\$\{([^}]*)(\}|$)/g, (all, key: string, closing: string) => {
    if (closing === '') return all
    if (key === 'pv.name') return volume
    if (key === 'pvc.namespace') return namespace
    if (key === 'pvc.name') return name
    const annotation = /^pvc\.annotations\['(.*)'\]$/.exec(key)?.[1]
    if (annotation !== undefined && annotations[annotation] !== undefined) return annotations[annotation]
    throw new DriverError('final', `error resolving value ${JSON.stringify(template)}: ${all} is not known`)
  })
}
