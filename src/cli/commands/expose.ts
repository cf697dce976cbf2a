/** `kubectl expose` */

import { parseJson } from '#api/codec/parse-json.ts'
import type { V1PodSpec } from '#api/core/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { CliError, throwAll } from '#cli/cli-error.ts'
import { asTyped, postGenerated } from '#cli/create/create-object.ts'
import { resultPrinter } from '#cli/print/printer.ts'
import { findInfos } from '#cli/resources/find-infos.ts'
import type { Info } from '#cli/resources/info.ts'
import { splitAt } from '#cli/session/resolve-context.ts'
import { dryRunOf, dryRunSuffix, withTypedLastApplied } from '#cli/write-options.ts'

export type ExposedPort = { port: string; protocol: string }

export async function expose(call: Call): Promise<void> {
  const { flags, host, session } = call
  const dryRun = dryRunOf(call)
  const printer = await resultPrinter(call, 'exposed', dryRunSuffix(dryRun))
  const { infos, errors } = await findInfos(call, { selector: '', latest: false })
  for (const info of infos) {
    try {
      let object = await overridden(call, serviceFor(call, info))
      const { namespace, isNamespaceGiven } = await session.context
      object = asTyped(object)
      if (dryRun === 'client') {
        if (isNamespaceGiven) object.metadata = { ...object.metadata, namespace }
      } else {
        if (flags.isOn('save-config')) object = withTypedLastApplied(object)
        object = await postGenerated(call, 'services', info.namespace, object)
      }
      host.write(printer(object))
    } catch (error) {
      errors.push(error)
    }
  }
  throwAll(errors)
}

export async function overridden(call: Call, object: ApiObject, text = call.flags.text('overrides')): Promise<ApiObject> {
  if (text === '') return object
  const { applyPatch } = await import('#api/meta/patch/apply-patch.ts')
  const { schemaNameOf, findSchema } = await import('#api/schema/schema.ts')
  const { groupAndVersion } = await import('#cli/session/resource-types.ts')
  const type = call.flags.text('override-type') || 'merge'
  if (type !== 'merge' && type !== 'json' && type !== 'strategic') throw new CliError(`invalid override type: ${type}`)
  const [group, version] = groupAndVersion(object.apiVersion ?? '')
  const name = schemaNameOf({ group, version, kind: object.kind ?? '' })
  const schema = name === undefined ? undefined : findSchema(name)
  return applyPatch(type, object, overrideOf(text, type), type === 'strategic' ? schema : undefined) as ApiObject
}

/** JSON, and nothing else: YAML is refused. */
function overrideOf(text: string, type: string): unknown {
  const refused = new CliError(type === 'merge' ? 'Invalid JSON Patch' : 'invalid JSON document')
  let value: unknown
  try {
    value = parseJson(text)
  } catch {
    throw refused
  }
  if (typeof value !== 'object') throw refused
  return value
}

function serviceFor(call: Call, info: Info): ApiObject {
  const { flags } = call
  checkKind(info)
  const selector = flags.text('selector') === '' ? selectorOf(info) : labelPairs(flags.text('selector'))
  const isHeadless = flags.text('cluster-ip') === 'None'
  const found = portsOf(info)
  const given = flags.text('port')
  const ports = given === '' ? found.map(({ port }) => port) : given.split(',')
  if (ports.length === 0 && !isHeadless) throw new CliError("couldn't find port via --port flag or introspection")
  const protocols = new Map(found.map(({ port, protocol }) => [port, protocol]))
  const target = flags.text('target-port')
  const protocol = flags.text('protocol')
  const name = flags.text('name') || info.name.slice(0, 63)
  const labels = flags.text('labels') === '' ? info.object.metadata?.labels : labelPairs(flags.text('labels'))
  const affinity = flags.text('session-affinity')
  if (!['', 'None', 'ClientIP'].includes(affinity)) throw new CliError(`unknown session affinity: ${affinity}`)
  return {
    kind: 'Service',
    apiVersion: 'v1',
    metadata: { name, ...omitEmpty({ labels }) },
    spec: {
      ...omitEmpty({
        ports: ports.map((port, index) => ({
          ...defined({ name: ports.length > 1 ? `port-${index + 1}` : undefined }),
          protocol: protocol || protocols.get(port) || 'TCP',
          port: Number(port),
          targetPort: target === '' ? Number(port) : /^\d+$/.test(target) ? Number(target) : target,
        })),
      }),
      selector,
      ...defined({ externalIPs: flags.text('external-ip') === '' ? undefined : [flags.text('external-ip')] }),
      ...omitEmpty({
        type: flags.text('type'),
        loadBalancerIP: flags.text('type') === 'LoadBalancer' ? flags.text('load-balancer-ip') : '',
        sessionAffinity: affinity,
        clusterIP: flags.text('cluster-ip'),
      }),
    },
  }
}

const exposable = ['pods', 'services', 'replicationcontrollers', 'deployments', 'replicasets']

function checkKind({ type }: Info): void {
  if (!exposable.includes(type.plural))
    throw new CliError(`cannot expose a ${type.group === '' ? type.kind : `${type.kind}.${type.group}`}`)
}

export function labelPairs(text: string): Record<string, string> {
  const result: Record<string, string> = {}
  for (const part of text.split(',')) {
    const [key, value] = splitAt(part, '=')
    if (value === undefined) throw new CliError(`unexpected label spec: ${part}`)
    if (key === '') throw new CliError('unexpected empty label key')
    result[key] = value
  }
  return result
}

function selectorOf({ type, object }: Info): Record<string, string> {
  const spec = object['spec'] as
    | { selector?: Record<string, string> & { matchLabels?: Record<string, string>; matchExpressions?: unknown[] } }
    | undefined
  const fail = (why: string): never => {
    throw new CliError(`couldn't retrieve selectors via --selector flag or introspection: ${why}`)
  }
  if (type.plural === 'pods') {
    const labels = object.metadata?.labels ?? {}
    return Object.keys(labels).length > 0 ? labels : fail('the pod has no labels and cannot be exposed')
  }
  if (type.plural === 'services')
    return spec?.selector && Object.keys(spec.selector).length > 0 ? spec.selector : fail('the service has no pod selector set')
  if (type.plural === 'replicationcontrollers') return spec?.selector ?? {}
  if ((spec?.selector?.matchExpressions ?? []).length > 0) return fail('couldn\'t convert expressions - "%v" to map-based selector format')
  const labels = spec?.selector?.matchLabels ?? {}
  return Object.keys(labels).length > 0 ? labels : fail('invalid deployment: no selectors, therefore cannot be exposed')
}

export function portsOf({ type, object }: Info): ExposedPort[] {
  if (type.plural === 'services') {
    const { ports = [] } = object['spec'] as { ports?: { port: number; protocol?: string }[] }
    return ports.map(({ port, protocol = 'TCP' }) => ({ port: String(port), protocol }))
  }
  const spec = object['spec'] as V1PodSpec & { template?: { spec: V1PodSpec } }
  const containers = (type.plural === 'pods' ? spec : spec.template?.spec)?.containers ?? []
  return containers.flatMap(({ ports = [] }) =>
    ports.map(({ containerPort, protocol = 'TCP' }) => ({ port: String(containerPort), protocol })),
  )
}
