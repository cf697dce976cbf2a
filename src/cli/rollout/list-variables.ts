/** `kubectl set env --list` */
import type { V1Container, V1EnvVarSource, V1PodSpec } from '#api/core/v1/types.gen.ts'
import type { Call } from '#cli/call.ts'
import { throwAll } from '#cli/cli-error.ts'
import { findInfos } from '#cli/resources/find-infos.ts'
import { resourcePath } from '#cli/session/resource-types.ts'
import { podSpecOf } from './pod-template.ts'

export async function listVariables(
  call: Call,
  resources: readonly string[],
  select: (spec: V1PodSpec, pattern: string) => V1Container[],
): Promise<void> {
  const { flags, host } = call
  const { infos, errors } = await findInfos(call, { args: resources })
  for (const info of infos) {
    const spec = podSpecOf(info.object)
    if (spec === undefined) continue
    for (const { name, env = [] } of select(spec, flags.text('containers'))) {
      host.write(`# ${info.type.kind} ${info.name}, container ${name}\n`)
      for (const { name: variable, value = '', valueFrom } of env) {
        if (valueFrom === undefined) host.write(`${variable}=${value}\n`)
        else if (flags.isOn('resolve')) host.write(`${variable}=${await resolved(call, info.namespace, valueFrom)}\n`)
        else host.write(`# ${variable} from ${sourceText(valueFrom)}\n`)
      }
    }
  }
  throwAll(errors)
}

export function sourceText({ fieldRef, configMapKeyRef, secretKeyRef, resourceFieldRef }: V1EnvVarSource): string {
  if (configMapKeyRef !== undefined) return `configmap ${configMapKeyRef.name}, key ${configMapKeyRef.key}`
  if (resourceFieldRef !== undefined) return `resource ${resourceFieldRef.resource}, containerName ${resourceFieldRef.containerName ?? ''}`
  if (secretKeyRef !== undefined) return `secret ${secretKeyRef.name}, key ${secretKeyRef.key}`
  return `field path ${fieldRef?.fieldPath ?? ''}`
}

async function resolved({ session }: Call, namespace: string, { configMapKeyRef, secretKeyRef }: V1EnvVarSource): Promise<string> {
  const rest = await session.rest
  const [plural, reference] = secretKeyRef === undefined ? ['configmaps', configMapKeyRef] : ['secrets', secretKeyRef]
  if (reference === undefined) return ''
  const object = await rest.json<{ data?: Record<string, string> }>({
    path: resourcePath({ group: '', version: 'v1', plural }, namespace, reference.name),
  })
  const value = object.data?.[reference.key] ?? ''
  return secretKeyRef === undefined ? value : Buffer.from(value, 'base64').toString()
}
