/** Services and ingresses out of flags. */
import { portName } from '#api/meta/formats.ts'
import { dns1123Subdomain } from '#api/meta/names.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'
import { splitAt } from '#cli/session/resolve-context.ts'
import { nameArgument } from './create-object.ts'

export type ServiceType = 'ClusterIP' | 'NodePort' | 'LoadBalancer' | 'ExternalName'

export const serviceOfType =
  (type: ServiceType) =>
  (call: Call): ApiObject => {
    const name = nameArgument(call)
    const { flags } = call
    const clusterIP = flags.has('clusterip') ? flags.text('clusterip') : ''
    const nodePort = flags.has('node-port') ? flags.number('node-port') : 0
    const ports = flags.list('tcp').map((text) => ({ ...portOf(text), ...omitEmpty({ nodePort }) }))
    const isHeadless = clusterIP === 'None'
    if (ports.length === 0 && type !== 'ExternalName' && !isHeadless) throw new CliError('at least one tcp port specifier must be provided')
    const externalName = type === 'ExternalName' ? flags.text('external-name') : undefined
    if (externalName !== undefined && dns1123Subdomain(externalName).length > 0)
      throw new CliError(`invalid service external name ${externalName}`)
    const labels = { app: name }
    return {
      kind: 'Service',
      apiVersion: 'v1',
      metadata: { name, labels },
      spec: {
        ...omitEmpty({ ports }),
        selector: labels,
        ...omitEmpty({ clusterIP }),
        type,
        ...defined({ externalName }),
      },
    }
  }

/** `port` or `port:targetPort`. */
function portOf(text: string): { name: string; protocol: string; port: number; targetPort: number | string } {
  const [first = '', second] = text.split(':')
  const port = portNumber(first)
  if (port === undefined)
    throw new CliError(
      `strconv.ParseUint: parsing ${JSON.stringify(first)}: ${/^\d+$/.test(first) ? 'value out of range' : 'invalid syntax'}`,
    )
  const target = second === undefined ? port : (portNumber(second) ?? second)
  const problems = typeof target === 'string' ? portName(target) : []
  if (problems.length > 0) throw new CliError(problems.join(','))
  return { name: text.replaceAll(':', '-'), protocol: 'TCP', port, targetPort: target }
}

function portNumber(text: string): number | undefined {
  return /^\d+$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined
}

/** What follows a rule that is whole is not looked at, as in kubectl. */
const ruleFormat = /^[\w*.-]*\/.*=[\w-]+:[\w-]+/

export function ingress(call: Call): ApiObject {
  const name = nameArgument(call)
  const { flags } = call
  const rules = flags.list('rule')
  const defaultBackend = flags.text('default-backend')
  if (defaultBackend === '' && rules.length === 0)
    throw new CliError(
      'not enough information provided: every ingress has to either specify a default-backend (which catches all traffic) or a list of rules (which catch specific paths)',
    )
  for (const rule of rules)
    if (!ruleFormat.test(rule))
      throw new CliError(`rule ${rule} is invalid and should be in format host/path=svcname:svcport[,tls[=secret]]`)
  const annotations: Record<string, string> = {}
  for (const annotation of flags.list('annotation')) {
    const [key, value] = splitAt(annotation, '=')
    if (value === undefined) throw new CliError(`annotation ${annotation} is invalid and should be in format key=[value]`)
    annotations[key] = value
  }
  if (defaultBackend !== '' && defaultBackend.split(':').length !== 2)
    throw new CliError('default-backend should be in format servicename:serviceport')
  const ingressClassName = flags.text('class')
  const tls = tlsOf(rules)
  const ingressRules = rulesOf(rules)
  return {
    kind: 'Ingress',
    apiVersion: 'networking.k8s.io/v1',
    metadata: { name, ...omitEmpty({ annotations }) },
    spec: {
      ...omitEmpty({ ingressClassName }),
      ...defined({ defaultBackend: defaultBackend === '' ? undefined : backendOf(defaultBackend) }),
      ...omitEmpty({ tls, rules: ingressRules }),
    },
  }
}

function backendOf(text: string): object {
  const [name, port = ''] = splitAt(text, ':')
  return { service: { name, port: /^\d+$/.test(port) ? { number: Number(port) } : { name: port } } }
}

function rulesOf(rules: readonly string[]): object[] {
  const hosts = new Map<string, object[]>()
  for (const rule of rules) {
    const [place = ''] = rule.split(',')
    const [host, rest = ''] = splitAt(place, '/')
    const [tail, service = ''] = splitAt(rest, '=')
    const path = `/${tail}`
    const isPrefix = path.endsWith('*')
    const paths = hosts.get(host) ?? []
    paths.push({ path: isPrefix ? path.slice(0, -1) : path, pathType: isPrefix ? 'Prefix' : 'Exact', backend: backendOf(service) })
    hosts.set(host, paths)
  }
  return [...hosts].map(([host, paths]) => ({ ...omitEmpty({ host }), http: { paths } }))
}

/** A host is taken into one secret only. */
function tlsOf(rules: readonly string[]): { hosts?: string[]; secretName?: string }[] {
  const found: { hosts?: string[]; secretName?: string }[] = []
  const seen = new Set<string>()
  for (const rule of rules) {
    const [, tls, ...more] = rule.split(',')
    if (tls === undefined || more.length > 0) continue
    const [host] = splitAt(rule, '/')
    const secretName = splitAt(tls, '=')[1] ?? ''
    if (seen.has(host)) continue
    seen.add(host)
    const same = secretName === '' ? undefined : found.find((each) => each.secretName === secretName)
    if (same !== undefined) same.hosts = [...(same.hosts ?? []), host]
    else if (host !== '' || secretName !== '')
      found.push({ ...defined({ hosts: host === '' ? undefined : [host] }), ...omitEmpty({ secretName }) })
  }
  return found
}
