import type { V1ConfigMap, V1LimitRange, V1Namespace, V1ResourceQuota, V1Secret, V1ServiceAccount } from '#api/core/v1/types.gen.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { type Description, rfc1123 } from './description.ts'
import { writeLimits, writeQuotas } from './policy-kinds.ts'

export async function describeNamespace(out: Description, object: ApiObject, { session }: Call): Promise<void> {
  const { metadata, status } = object as unknown as V1Namespace
  const rest = await session.rest
  const list = async <T>(plural: string): Promise<T[]> =>
    (await rest.json<{ items: T[] }>({ path: `/api/v1/namespaces/${metadata?.name}/${plural}`, query: { limit: 500 } })).items
  const [quotas, limits] = [await list<V1ResourceQuota>('resourcequotas'), await list<V1LimitRange>('limitranges')]
  out.field(0, 'Name', metadata?.name)
  out.labels('Labels', metadata?.labels)
  out.annotations('Annotations', metadata?.annotations)
  out.field(0, 'Status', status?.phase ?? '')
  if ((status?.conditions ?? []).length > 0) {
    out.write(0, 'Conditions:\n')
    out.write(1, 'Type\tStatus\tLastTransitionTime\tReason\tMessage\n')
    out.write(1, '----\t------\t------------------\t------\t-------\n')
    for (const { type, status: value, lastTransitionTime, reason = '', message = '' } of status?.conditions ?? [])
      out.write(1, `${type}\t${value}\t${rfc1123(lastTransitionTime)}\t${reason}\t${message}\n`)
  }
  out.write(0, '\n')
  writeQuotas(out, quotas)
  out.write(0, '\n')
  writeLimits(out, limits)
}

export function describeSecret(out: Description, object: ApiObject): void {
  const { metadata, type, data = {} } = object as unknown as V1Secret
  out.field(0, 'Name', metadata?.name)
  out.field(0, 'Namespace', metadata?.namespace)
  out.labels('Labels', metadata?.labels)
  out.annotations('Annotations', metadata?.annotations)
  out.write(0, `\nType:\t${type}\n\nData\n====\n`)
  for (const key of Object.keys(data).sort()) {
    const value = Buffer.from(data[key] ?? '', 'base64')
    out.field(0, key, key === 'token' && type === 'kubernetes.io/service-account-token' ? value.toString() : `${value.length} bytes`)
  }
}

export function describeConfigMap(out: Description, object: ApiObject): void {
  const { metadata, data = {}, binaryData = {} } = object as unknown as V1ConfigMap
  out.field(0, 'Name', metadata?.name)
  out.field(0, 'Namespace', metadata?.namespace)
  out.labels('Labels', metadata?.labels)
  out.annotations('Annotations', metadata?.annotations)
  out.write(0, '\nData\n====\n')
  for (const key of Object.keys(data).sort()) out.write(0, `${key}:\n----\n${data[key]}\n\n`)
  out.write(0, '\nBinaryData\n====\n')
  for (const key of Object.keys(binaryData).sort()) out.write(0, `${key}: ${Buffer.from(binaryData[key] ?? '', 'base64').length} bytes\n`)
  out.write(0, '\n')
}

export function describeServiceAccount(out: Description, object: ApiObject): void {
  const { metadata, imagePullSecrets = [] } = object as unknown as V1ServiceAccount
  out.field(0, 'Name', metadata?.name)
  out.field(0, 'Namespace', metadata?.namespace)
  out.labels('Labels', metadata?.labels)
  out.annotations('Annotations', metadata?.annotations)
  const names = imagePullSecrets.map(({ name }) => name)
  for (const [index, name] of (names.length === 0 ? ['<none>'] : names).entries())
    out.write(0, `${index === 0 ? 'Image pull secrets:' : '                   '}\t${name}\n`)
}
