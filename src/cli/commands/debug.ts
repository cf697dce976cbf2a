/** `kubectl debug`: a further container in a pod, a copy of a pod, or a pod on a node. */

import type { V1Container, V1EphemeralContainer, V1Pod, V1SecurityContext } from '#api/core/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { systemRandom } from '#base/random.ts'
import type { Call } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'
import { splitAt } from '#cli/session/resolve-context.ts'
import { resourcePath } from '#cli/session/resource-types.ts'
import { podFor } from '#cli/streams/find-pod.ts'
import { talk } from './exec.ts'

type Profile = 'legacy' | 'general' | 'baseline' | 'restricted' | 'netadmin' | 'sysadmin'
const profiles: readonly string[] = ['legacy', 'general', 'baseline', 'restricted', 'netadmin', 'sysadmin']

export async function debug(call: Call): Promise<void> {
  const { args, argsBeforeDash, flags } = call
  if (flags.text('image') === '' && flags.text('copy-to') === '') throw new CliError('you must specify --image when not using --copy-to.')
  const count = argsBeforeDash ?? args.length
  const [what] = args
  if (what === undefined || count === 0) throw new CliError('NAME is required for debug')
  const profile = (flags.text('profile') || 'general') as Profile
  if (!profiles.includes(profile)) throw new CliError(`unknown profile: ${profile}`)
  const isNode = /^(?:node|nodes|no)\//.test(what)
  const copyTo = flags.text('copy-to')
  if (isNode && copyTo !== '') throw new CliError('--copy-to may not be used with a node')
  if (flags.isOn('tty') && !flags.isOn('stdin')) throw new CliError('-i/--stdin is required for containers with -t/--tty=true')
  const command = argsBeforeDash === undefined ? args.slice(1) : args.slice(argsBeforeDash)
  if (isNode) return debugNode(call, what.split('/')[1] ?? '', command, profile)
  const pod = await podFor(call, what)
  return copyTo === '' ? addContainer(call, pod, command, profile) : copyPod(call, pod, copyTo, command, profile)
}

const letters = 'bcdfghjklmnpqrstvwxz2456789'

/** Names that nobody else chose at the same moment. */
function suffix(): string {
  return Array.from({ length: 5 }, () => letters[systemRandom.int(letters.length)]).join('')
}

function contextOf(profile: Profile, isNode: boolean): V1SecurityContext | undefined {
  switch (profile) {
    case 'general':
      return isNode ? undefined : { capabilities: { add: ['SYS_PTRACE'] } }
    case 'restricted':
      return {
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      }
    case 'netadmin':
      return { capabilities: { add: ['NET_ADMIN', 'NET_RAW'] } }
    case 'sysadmin':
      return { privileged: true }
    default:
      return undefined
  }
}

function containerOf(call: Call, name: string, command: readonly string[], profile: Profile, isNode: boolean): V1Container {
  const { flags } = call
  const securityContext = contextOf(profile, isNode)
  const env = flags.list('env').map((pair) => ({ name: splitAt(pair, '=')[0], value: splitAt(pair, '=')[1] ?? '' }))
  return {
    name,
    image: flags.text('image'),
    imagePullPolicy: flags.text('image-pull-policy') || 'IfNotPresent',
    terminationMessagePolicy: 'File',
    ...(command.length === 0 ? {} : flags.isOn('arguments-only') ? { args: [...command] } : { command: [...command] }),
    ...(env.length > 0 ? { env } : {}),
    ...(flags.isOn('stdin') ? { stdin: true } : {}),
    ...(flags.isOn('tty') ? { tty: true } : {}),
    ...defined({ securityContext }),
  }
}

async function addContainer(call: Call, pod: V1Pod, command: readonly string[], profile: Profile): Promise<void> {
  const { flags, host, session } = call
  const rest = await session.rest
  const name = flags.text('container') || `debugger-${suffix()}`
  if (flags.text('container') === '' && !flags.isOn('quiet')) host.complain(`Defaulting debug container name to ${name}.\n`)
  const target = flags.text('target')
  if (target !== '' && !flags.isOn('quiet'))
    host.complain(
      `Targeting container ${JSON.stringify(target)}. If you don't see processes from this container it may be because the container runtime doesn't support this feature.\n`,
    )
  const container: V1EphemeralContainer = {
    ...containerOf(call, name, command, profile, false),
    ...(target === '' ? {} : { targetContainerName: target }),
  }
  const path = resourcePath({ group: '', version: 'v1', plural: 'pods' }, pod.metadata?.namespace ?? '', pod.metadata?.name ?? '')
  const changed = await rest.json<V1Pod>({
    method: 'PATCH',
    path: `${path}/ephemeralcontainers`,
    contentType: 'application/strategic-merge-patch+json',
    body: {
      spec: {
        '$setElementOrder/ephemeralContainers': [...(pod.spec?.ephemeralContainers ?? []), container].map((each) => ({ name: each.name })),
        ephemeralContainers: [container],
      },
    },
  })
  await attachTo(call, changed, name)
}

async function copyPod(call: Call, pod: V1Pod, name: string, command: readonly string[], profile: Profile): Promise<void> {
  const { flags, host, session } = call
  const spec = structuredClone(pod.spec) as NonNullable<V1Pod['spec']>
  const isKept = (flag: string) => flags.isOn(flag)
  spec.containers = spec.containers.map(({ livenessProbe, readinessProbe, startupProbe, ...rest }) => ({
    ...rest,
    ...(isKept('keep-liveness') && livenessProbe ? { livenessProbe } : {}),
    ...(isKept('keep-readiness') && readinessProbe ? { readinessProbe } : {}),
    ...(isKept('keep-startup') && startupProbe ? { startupProbe } : {}),
  }))
  if (!isKept('keep-init-containers')) delete spec.initContainers
  delete spec.ephemeralContainers
  if (!flags.isOn('same-node')) delete spec.nodeName
  if (flags.isOn('share-processes')) spec.shareProcessNamespace = true
  for (const pair of flags.list('set-image')) {
    const [container, image = ''] = splitAt(pair, '=')
    for (const each of spec.containers) if (container === '*' || each.name === container) each.image = image
  }
  const wanted = flags.text('container')
  const existing = spec.containers.find((each) => each.name === wanted)
  let debugged = existing?.name ?? wanted
  if (existing !== undefined) {
    if (flags.text('image') !== '') existing.image = flags.text('image')
    if (command.length > 0)
      Object.assign(existing, flags.isOn('arguments-only') ? { args: [...command] } : { command: [...command], args: [] })
    Object.assign(existing, flags.isOn('stdin') ? { stdin: true } : {}, flags.isOn('tty') ? { tty: true } : {})
  } else if (flags.text('image') !== '') {
    debugged = wanted || `debugger-${suffix()}`
    if (wanted === '' && !flags.isOn('quiet')) host.complain(`Defaulting debug container name to ${debugged}.\n`)
    spec.containers.push(containerOf(call, debugged, command, profile, false))
  }
  const { labels, annotations } = pod.metadata ?? {}
  const copy = {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: {
      name,
      ...(isKept('keep-labels') && labels ? { labels } : {}),
      ...(isKept('keep-annotations') && annotations ? { annotations } : {}),
    },
    spec,
  }
  const rest = await session.rest
  const made = await rest.json<V1Pod>({
    method: 'POST',
    path: resourcePath({ group: '', version: 'v1', plural: 'pods' }, pod.metadata?.namespace ?? ''),
    body: copy,
  })
  if (flags.isOn('replace'))
    await rest.json({
      method: 'DELETE',
      path: resourcePath({ group: '', version: 'v1', plural: 'pods' }, pod.metadata?.namespace ?? '', pod.metadata?.name ?? ''),
      body: { gracePeriodSeconds: 0 },
    })
  await attachTo(call, made, debugged || (spec.containers[0]?.name ?? ''))
}

async function debugNode(call: Call, node: string, command: readonly string[], profile: Profile): Promise<void> {
  const { host, session, flags } = call
  const rest = await session.rest
  await rest.json({ path: resourcePath({ group: '', version: 'v1', plural: 'nodes' }, '', node) })
  const name = `node-debugger-${node.slice(0, 40)}-${suffix()}`
  const container = { ...containerOf(call, flags.text('container') || 'debugger', command, profile, true) }
  const seesHost = profile !== 'baseline' && profile !== 'restricted'
  const pod = {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name, labels: { 'app.kubernetes.io/managed-by': 'kubectl-debug' } },
    spec: {
      nodeName: node,
      restartPolicy: 'Never',
      tolerations: [{ operator: 'Exists' }],
      ...(seesHost
        ? {
            hostNetwork: true,
            hostPID: true,
            ...(profile === 'netadmin' ? {} : { hostIPC: true }),
            volumes: [{ name: 'host-root', hostPath: { path: '/' } }],
          }
        : {}),
      containers: [{ ...container, ...(seesHost ? { volumeMounts: [{ name: 'host-root', mountPath: '/host' }] } : {}) }],
    },
  }
  if (!flags.isOn('quiet')) host.complain(`Creating debugging pod ${name} with container ${container.name} on node ${node}.\n`)
  const made = await rest.json<V1Pod>({
    method: 'POST',
    path: resourcePath({ group: '', version: 'v1', plural: 'pods' }, await session.namespace()),
    body: pod,
  })
  await attachTo(call, made, container.name)
}

/** Where it is wanted, and once the container runs. */
async function attachTo(call: Call, pod: V1Pod, container: string): Promise<void> {
  const { flags, host, session } = call
  const attaches = flags.isSet('attach') ? flags.isOn('attach') : flags.isOn('stdin')
  if (!attaches) return
  const rest = await session.rest
  const path = resourcePath({ group: '', version: 'v1', plural: 'pods' }, pod.metadata?.namespace ?? '', pod.metadata?.name ?? '')
  for (;;) {
    const { status } = await rest.json<V1Pod>({ path })
    const state = [...(status?.containerStatuses ?? []), ...(status?.ephemeralContainerStatuses ?? [])].find(
      ({ name }) => name === container,
    )?.state
    if (state?.running !== undefined) break
    if (state?.terminated !== undefined) return host.write(await rest.text({ path: `${path}/log`, query: { container }, accept: '*/*' }))
    await host.clock.sleep(250, host.interrupted)
  }
  if (!flags.isOn('quiet')) host.complain("If you don't see a command prompt, try pressing enter.\n")
  return talk(call, pod, 'attach', container, [])
}
