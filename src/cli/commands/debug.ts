/** `kubectl debug`: a further container in a pod, a copy of a pod, or a pod on a node. */

import type { V1Container, V1EphemeralContainer, V1Pod } from '#api/core/v1/types.gen.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { systemRandom } from '#base/random.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'
import { findInfos } from '#cli/resources/find-infos.ts'
import { type Info, infoPath } from '#cli/resources/info.ts'
import { hasManifests } from '#cli/resources/read-manifests.ts'
import { patchBetween } from '#cli/rollout/pod-template.ts'
import { splitAt } from '#cli/session/resolve-context.ts'
import { apiVersionOf, resourcePath } from '#cli/session/resource-types.ts'
import { applyProfile, type DebugStyle, type Profile, profiles } from '#cli/streams/debug-profiles.ts'
import { attachOrShowLog, writeLog } from './exec.ts'
import { imageFormat } from './run.ts'

type Debugging = {
  call: Call
  command: readonly string[]
  profile: Profile
  custom: Partial<V1Container> | undefined
  images: Map<string, string>
}

const podType = { group: '', version: 'v1', plural: 'pods' }

export async function debug(call: Call): Promise<void> {
  const { args, argsBeforeDash, flags, host } = call
  const targets = args.slice(0, argsBeforeDash ?? args.length)
  const command = argsBeforeDash === undefined ? [] : args.slice(argsBeforeDash)
  const profile = flags.text('profile') as Profile
  if (!profiles.includes(profile)) throw new CliError(`unknown profile: ${profile}`)
  const custom = await customProfile(call)
  const images = new Map(flags.list('set-image').map((pair) => [splitAt(pair, '=')[0], splitAt(pair, '=')[1] ?? ''] as const))
  validate(call, targets, command, images)
  checkCustom(custom)
  if (profile === 'legacy')
    host.complain(
      '--profile=legacy is deprecated and planned to be removed in v1.39. It is recommended to specify other profile, for example "--profile=general".\n',
    )
  const debugging: Debugging = { call, command, profile, custom, images }
  // One after the other: what comes before a target that is not there is done.
  const each = targets.length === 0 ? [[]] : targets.map((target) => [target.includes('/') ? target : `pods/${target}`])
  for (const args of each) await debugFound(debugging, await findInfos(call, { args }))
}

async function debugFound(debugging: Debugging, found: Awaited<ReturnType<typeof findInfos>>): Promise<void> {
  for (const info of found.infos) {
    if (info.type.kind === 'Node' && info.type.group === '') await debugNode(debugging, info.name)
    else if (info.type.kind !== 'Pod') throw new CliError(`"${apiVersionOf(info.type)}, Kind=${info.type.kind}" not supported by debug`)
    else if (debugging.call.flags.text('copy-to') === '') await addContainer(debugging, info)
    else await copyPod(debugging, info)
  }
  if (found.errors.length > 0) throw found.errors[0]
}

function validate(call: Call, targets: readonly string[], command: readonly string[], images: ReadonlyMap<string, string>): void {
  const { flags, host } = call
  const [image, copyTo, container] = [flags.text('image'), flags.text('copy-to'), flags.text('container')]
  if (flags.isSet('attach') && flags.isOn('attach') && image === '' && container === '')
    throw new CliError('you must specify --container or create a new container using --image in order to attach.')
  if (copyTo !== '') {
    if (image === '' && images.size === 0 && command.length === 0)
      throw new CliError('you must specify --image, --set-image or command arguments.')
    if (command.length > 0 && container === '' && image === '')
      throw new CliError('you must specify an existing container or a new image when specifying args.')
  } else {
    for (const flag of ['replace', 'same-node']) if (flags.isOn(flag)) throw new CliError(`--${flag} may only be used with --copy-to.`)
    if (images.size > 0) throw new CliError('--set-image may only be used with --copy-to.')
    if (image === '') throw new CliError('you must specify --image when not using --copy-to.')
  }
  if (image !== '' && !imageFormat.test(image)) throw new CliError(`invalid image name ${JSON.stringify(image)}: invalid reference format`)
  if (targets.length === 0 && !hasManifests(call)) throw new CliError('NAME or filename is required for debug')
  const policy = flags.text('image-pull-policy')
  if (!['', 'Always', 'IfNotPresent', 'Never'].includes(policy)) throw new CliError(`invalid image pull policy: ${policy}`)
  for (const [name, each] of images)
    if (!imageFormat.test(each))
      throw new CliError(`invalid image name ${JSON.stringify(each)} for container ${JSON.stringify(name)}: invalid reference format`)
  if (flags.text('target') !== '') {
    if (copyTo !== '') throw new CliError('--target is incompatible with --copy-to. Use --share-processes instead.')
    if (!flags.isOn('quiet'))
      host.write(
        `Targeting container ${JSON.stringify(flags.text('target'))}. If you don't see processes from this container it may be because the container runtime doesn't support this feature.\n`,
      )
  }
  if (flags.isOn('tty') && !flags.isOn('stdin')) throw new CliError('-i/--stdin is required for containers with -t/--tty=true')
}

/** A part of a container, laid over what the profile makes. */
async function customProfile({ flags, host }: Call): Promise<Partial<V1Container> | undefined> {
  const path = flags.text('custom')
  if (path === '') return undefined
  const text = await host.files.readTextIfPresent(path)
  if (text === undefined)
    throw new CliError(`must pass a container spec json file for custom profile: open ${path}: no such file or directory`)
  const { readYamlValue } = await import('#api/codec/yaml-reader.ts')
  try {
    return readYamlValue(text).value as Partial<V1Container>
  } catch (error) {
    throw new CliError(`${path} does not contain a valid container spec: ${(error as Error).message}`)
  }
}

function checkCustom(custom: Partial<V1Container> | undefined): void {
  if (custom?.name || custom?.image || custom?.lifecycle || (custom?.command ?? []).length > 0 || (custom?.volumeDevices ?? []).length > 0)
    throw new CliError('name, command, image, lifecycle and volume devices are not modifiable via custom profile')
}

async function withCustom<T extends V1Container | V1EphemeralContainer>(
  container: T,
  custom: Partial<V1Container> | undefined,
): Promise<T> {
  if (custom === undefined) return container
  const { applyPatch } = await import('#api/meta/patch/apply-patch.ts')
  const { findSchema } = await import('#api/schema/schema.ts')
  return applyPatch('strategic', container, custom, findSchema('io.k8s.api.core.v1.Container')) as unknown as T
}

const letters = 'bcdfghjklmnpqrstvwxz2456789'

/** Names that nobody else chose at the same moment. */
function suffix(): string {
  return Array.from({ length: 5 }, () => letters[systemRandom.int(letters.length)]).join('')
}

function containerName({ flags, host }: Call): string {
  if (flags.text('container') !== '') return flags.text('container')
  const name = `debugger-${suffix()}`
  if (!flags.isOn('quiet')) host.write(`Defaulting debug container name to ${name}.\n`)
  return name
}

const environmentOf = ({ flags }: Call) =>
  flags.list('env').map((pair) => ({ name: splitAt(pair, '=')[0], value: splitAt(pair, '=')[1] ?? '' }))

function newContainer({ call, command }: Debugging, name: string): V1Container {
  const { flags } = call
  const env = environmentOf(call)
  return {
    name,
    image: flags.text('image'),
    terminationMessagePolicy: 'File',
    ...omitEmpty({ imagePullPolicy: flags.text('image-pull-policy') }),
    ...(command.length === 0 ? {} : flags.isOn('arguments-only') ? { args: [...command] } : { command: [...command] }),
    ...omitEmpty({ env, stdin: flags.isOn('stdin'), tty: flags.isOn('tty') }),
  }
}

/** Who runs everything as somebody else may not get what the profile grants. */
function warnOfUser({ host }: Call, { securityContext: context }: V1Container, pod: V1Pod): void {
  const isRoot = (user: number | undefined) => user === undefined || user === 0
  if (isRoot(pod.spec?.securityContext?.runAsUser) || context === undefined || context.runAsUser === 0) return
  if (!context.privileged && (context.capabilities?.add ?? []).length === 0) return
  host.complain(
    'Warning: Non-root user is configured for the entire target Pod, and some capabilities granted by debug profile may not work. Please consider using "--custom" with a custom profile that specifies "securityContext.runAsUser: 0".\n',
  )
}

async function addContainer(debugging: Debugging, info: Info): Promise<void> {
  const { call, profile, custom } = debugging
  const target = call.flags.text('target')
  const name = containerName(call)
  const after = deepCopy(info.object) as unknown as V1Pod
  const style: DebugStyle = 'ephemeral'
  const others = after.spec?.ephemeralContainers ?? []
  // The profile goes to the first of this name: two of them are for the server to refuse.
  const container: V1EphemeralContainer = { ...newContainer(debugging, name), ...omitEmpty({ targetContainerName: target }) }
  const all = [...others, container]
  const at = all.findIndex((each) => each.name === name)
  applyProfile(profile, style, after, all[at] as V1Container, call.flags)
  if (after.spec !== undefined) after.spec.ephemeralContainers = all.with(at, await withCustom(all[at] as V1EphemeralContainer, custom))
  warnOfUser(call, all.at(-1) as V1Container, after)
  const patch = patchBetween(info, info.object, after as unknown as ApiObject)
  const rest = await call.session.rest
  const changed = await rest.json<V1Pod>({
    method: 'PATCH',
    path: infoPath(info, 'ephemeralcontainers'),
    contentType: 'application/strategic-merge-patch+json',
    body: patch?.body ?? {},
  })
  await attachIfWanted(call, changed, name)
}

async function copyPod(debugging: Debugging, info: Info): Promise<void> {
  const { call, profile, custom, images, command } = debugging
  const { flags, session } = call
  const pod = deepCopy(info.object) as unknown as V1Pod
  const { namespace = '', labels, annotations } = pod.metadata ?? {}
  const spec = pod.spec as NonNullable<V1Pod['spec']>
  const copy: V1Pod = {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name: flags.text('copy-to'), namespace, ...defined({ annotations, labels }) },
    spec,
  }
  delete spec.ephemeralContainers
  if (flags.isSet('share-processes')) spec.shareProcessNamespace = flags.isOn('share-processes')
  if (!flags.isOn('same-node')) delete spec.nodeName
  for (const each of spec.containers) each.image = images.get(each.name) || images.get('*') || (each.image ?? '')
  const image = flags.text('image')
  let debugged = ''
  let container = [...spec.containers, ...(spec.initContainers ?? [])].find(({ name }) => name === flags.text('container'))
  if (container === undefined && image === '' && images.size === 0) throw new CliError('you must specify image when creating new container')
  if (container !== undefined || image !== '') {
    if (container === undefined) {
      container = { name: containerName(call), terminationMessagePolicy: 'File' }
      spec.containers.push(container)
    }
    debugged = container.name
    if (command.length > 0 && flags.isOn('arguments-only')) container.args = [...command]
    else if (command.length > 0) {
      container.command = [...command]
      delete container.args
    }
    const env = environmentOf(call)
    if (env.length > 0) container.env = env
    if (image !== '') container.image = image
    if (flags.text('image-pull-policy') !== '') container.imagePullPolicy = flags.text('image-pull-policy')
    container.stdin = flags.isOn('stdin')
    container.tty = flags.isOn('tty')
    applyProfile(profile, 'copy', copy, container, flags)
    const chosen = container
    const changed = await withCustom(chosen, custom)
    spec.containers = spec.containers.map((each) => (each === chosen ? changed : each))
    warnOfUser(call, changed, copy)
  }
  const rest = await session.rest
  const made = await rest.json<V1Pod>({ method: 'POST', path: resourcePath(podType, namespace), body: copy })
  if (flags.isOn('replace'))
    await rest.json({ method: 'DELETE', path: infoPath(info), body: { kind: 'DeleteOptions', apiVersion: 'v1', gracePeriodSeconds: 0 } })
  if (debugged !== '') await attachIfWanted(call, made, debugged)
}

async function debugNode(debugging: Debugging, node: string): Promise<void> {
  const { call, profile, custom } = debugging
  const { host, session, flags } = call
  const container = newContainer(debugging, flags.text('container') || 'debugger')
  const name = `node-debugger-${node}-${suffix()}`
  if (!flags.isOn('quiet')) host.write(`Creating debugging pod ${name} with container ${container.name} on node ${node}.\n`)
  const pod: V1Pod = {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name, labels: { 'app.kubernetes.io/managed-by': 'kubectl-debug' } },
    spec: { nodeName: node, restartPolicy: 'Never', tolerations: [{ operator: 'Exists' }], containers: [container] },
  }
  applyProfile(profile, 'node', pod, container, flags)
  if (pod.spec !== undefined) pod.spec.containers = [await withCustom(container, custom)]
  const rest = await session.rest
  const made = await rest.json<V1Pod>({ method: 'POST', path: resourcePath(podType, await session.namespace()), body: pod })
  await attachIfWanted(call, made, container.name)
}

/** Where it is wanted, and once the container runs. */
async function attachIfWanted(call: Call, pod: V1Pod, container: string): Promise<void> {
  const { flags, host, session } = call
  const attaches = flags.isSet('attach') ? flags.isOn('attach') : flags.isOn('stdin')
  if (!attaches) return
  const rest = await session.rest
  const path = resourcePath(podType, pod.metadata?.namespace ?? '', pod.metadata?.name ?? '')
  for (;;) {
    const { status } = await rest.json<V1Pod>({ path })
    const state = [...(status?.containerStatuses ?? []), ...(status?.ephemeralContainerStatuses ?? [])].find(
      ({ name }) => name === container,
    )?.state
    if (state?.running !== undefined) break
    if (state?.terminated !== undefined) return writeLog(call, pod, container)
    await host.clock.sleep(250, host.interrupted)
  }
  await attachOrShowLog(call, pod, container)
}
