/** Accounts that ask for it limit their pods to the secrets they list. */
import type { V1Container, V1Pod, V1ServiceAccount } from '#api/core/v1/types.gen.ts'

const annotation = 'kubernetes.io/enforce-mountable-secrets'
const truths = new Set(['1', 't', 'T', 'TRUE', 'true', 'True'])

export const enforcesMountableSecrets = ({ metadata }: V1ServiceAccount): boolean => truths.has(metadata?.annotations?.[annotation] ?? '')

/** The first secret of the pod that the account does not list. */
export function unlistedSecretFault(account: V1ServiceAccount, { spec }: V1Pod): string | undefined {
  const listed = new Set(account.secrets?.map(({ name }) => name))
  const refused = refusal(account)
  for (const { secret } of spec.volumes ?? []) {
    const name = secret?.secretName ?? ''
    if (secret !== undefined && !listed.has(name)) return refused(`volume with secret.secretName="${name}"`)
  }
  const fault =
    faultOfContainers('init container', spec.initContainers, account) ?? faultOfContainers('container', spec.containers, account)
  if (fault !== undefined) return fault
  const pullSecrets = new Set(account.imagePullSecrets?.map(({ name }) => name))
  for (const [index, { name = '' }] of (spec.imagePullSecrets ?? []).entries()) {
    if (!pullSecrets.has(name)) return refused(`imagePullSecrets[${index}].name="${name}"`, 'imagePullSecret')
  }
  return undefined
}

export function ephemeralFault(account: V1ServiceAccount, { spec }: V1Pod): string | undefined {
  return faultOfContainers('ephemeral container', spec.ephemeralContainers, account)
}

type ContainerLike = Pick<V1Container, 'name' | 'env' | 'envFrom'>

function faultOfContainers(kind: string, containers: readonly ContainerLike[] | undefined, account: V1ServiceAccount): string | undefined {
  const listed = new Set(account.secrets?.map(({ name }) => name))
  const refused = refusal(account)
  for (const { name, env, envFrom } of containers ?? []) {
    for (const { name: variable, valueFrom } of env ?? []) {
      const secret = valueFrom?.secretKeyRef
      if (secret !== undefined && !listed.has(secret.name)) {
        return refused(`${kind} ${name} with envVar ${variable} referencing secret.secretName="${secret.name ?? ''}"`)
      }
    }
    for (const { secretRef } of envFrom ?? []) {
      if (secretRef !== undefined && !listed.has(secretRef.name)) {
        return refused(`${kind} ${name} with envFrom referencing secret.secretName="${secretRef.name ?? ''}"`)
      }
    }
  }
  return undefined
}

const refusal =
  ({ metadata }: V1ServiceAccount) =>
  (what: string, kind = 'secret'): string =>
    `${what} is not allowed because service account ${metadata?.name ?? ''} does not reference that ${kind}`
