/** `kubectl set image|env|resources|selector|serviceaccount|subject` */

import type { V1Container, V1EnvVar, V1PodSpec } from '#api/core/v1/types.gen.ts'
import { labelSelectorObject } from '#api/meta/selector.ts'
import { schemaNameOf } from '#api/schema/schema.ts'
import { defined } from '#base/defined.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { ApiError, CliError, throwAll } from '#cli/cli-error.ts'
import { asTyped } from '#cli/create/create-object.ts'
import { quantities } from '#cli/create/policies.ts'
import { resultPrinter } from '#cli/print/printer.ts'
import { findInfos } from '#cli/resources/find-infos.ts'
import type { Info } from '#cli/resources/info.ts'
import { hasManifests, readManifestsStrictly } from '#cli/resources/read-manifests.ts'
import { missingResources } from '#cli/resources/select-resources.ts'
import { changeObject, podSpecOf } from '#cli/rollout/pod-template.ts'
import { splitAt } from '#cli/session/resolve-context.ts'
import { dryRunOf, dryRunSuffix } from '#cli/write-options.ts'
import { resourcesAndPairs } from './mark.ts'

const noResources = (): CliError => new CliError('one or more resources must be specified as <resource> <name> or <resource>/<name>')

/** Runs a change over the objects that the command line names; says what was done to those it changed. */
export async function changeEach(
  call: Call,
  resources: readonly string[],
  { operation, failure = '' }: { operation: string; failure?: string },
  change: (object: ApiObject, info: Info) => void,
): Promise<void> {
  const { flags, host } = call
  const isLocal = flags.isOn('local')
  const dryRun = dryRunOf(call)
  if (isLocal && dryRun === 'server') throw new CliError('cannot specify --local and --dry-run=server - did you mean --dry-run=client?')
  if (flags.isOn('all') && flags.has('selector') && flags.text('selector') !== '')
    throw new CliError('cannot set --all and --selector at the same time')
  if (isLocal && !hasManifests(call))
    throw new CliError(
      "you must specify resources by --filename when --local is set.\nExample resource specifications include:\n   '-f rsrc.yaml'\n   '--filename=rsrc.json'",
    )
  const { infos, errors } = isLocal
    ? { infos: await readManifestsStrictly(call, { isLocal }), errors: [] }
    : await findInfos(call, { args: resources })
  // Where one of them is not there, nothing is done to the others, unless it is about selectors.
  if (failure !== '') throwAll(errors)
  const printer = await resultPrinter(call, operation, isLocal ? '' : dryRunSuffix(dryRun))
  for (const info of infos) {
    try {
      const object = await changeObject(
        call,
        info,
        (copy) => (failure === '' ? change(copy, info) : namingObject(info, () => change(copy, info))),
        { isLocal },
      )
      // Objects that stay as they are are shown only where objects are asked for.
      if (object !== undefined) host.write(printer(isLocal ? asTyped(object) : object))
      else if (isLocal || flags.text('output') !== '') host.write(printer(isLocal ? asTyped(info.object) : info.object))
    } catch (error) {
      errors.push(error instanceof ApiError && failure !== '' ? new CliError(`${failure} ${error.message}`) : error)
    }
  }
  throwAll(errors)
}

/** What cannot be changed is told with the object's name, unless it is about one of its containers. */
function namingObject({ type, name }: Info, change: () => void): void {
  try {
    change()
  } catch (error) {
    if (!(error instanceof CliError) || error.message.startsWith('error: ')) throw error
    throw new CliError(`${type.plural}/${name} ${error.message}`)
  }
}

function specOf(object: ApiObject, { type }: Info): V1PodSpec {
  const spec = podSpecOf(object)
  if (spec === undefined) throw new CliError(`the object is not a pod or does not have a pod template: ${goTypeOf(type)}`)
  return spec
}

/** Kinds that kubectl does not know have no type of their own in its messages. */
const goTypeOf = (type: Info['type']): string =>
  schemaNameOf(type) === undefined ? '*unstructured.Unstructured' : `*${type.version}.${type.kind}`

export async function setImage(call: Call): Promise<void> {
  const { resources, pairs } = resourcesAndPairs(call.args, 'image')
  const images = pairs.map((pair) => splitAt(pair, '=') as [string, string])
  const problems: CliError[] = []
  if (call.flags.isOn('all') && call.flags.text('selector') !== '')
    problems.push(new CliError('cannot set --all and --selector at the same time'))
  if (resources.length < 1 && !hasManifests(call)) throw missingResources()
  // What is no image may be the name of a resource, and a wrong one.
  if (images.length < 1) throwAll((await findInfos(call, { args: resources })).errors)
  if (images.length < 1) problems.push(new CliError('at least one image update is required'))
  else if (images.length > 1 && images.some(([name]) => name === '*'))
    problems.push(new CliError('all containers are already specified by *, but saw more than one container_name=container_image pairs'))
  throwAll(problems)
  await changeEach(
    call,
    resources,
    { operation: 'image updated', failure: 'failed to patch image update to pod template:' },
    (object, info) => {
      const spec = specOf(object, info)
      const containers = [...(spec.initContainers ?? []), ...spec.containers]
      for (const [name, image] of images) {
        const chosen = containers.filter((container) => name === '*' || container.name === name)
        if (chosen.length === 0) throw new CliError(`error: unable to find container named ${JSON.stringify(name)}`)
        for (const container of chosen) container.image = image
      }
    },
  )
}

export async function setEnv(call: Call): Promise<void> {
  const { flags, host } = call
  const { resources, pairs } = resourcesAndPairs(call.args, 'environment', { readsInput: true })
  if (resources.length < 1 && !hasManifests(call)) throw noResources()
  if (flags.isOn('list') && flags.text('output') !== '') throw new CliError('--list and --output may not be specified together')
  if (flags.list('keys').length > 0 && flags.text('from') === '')
    throw new CliError('when specifying --keys, a configmap or secret must be provided with --from')
  const { set, remove } = await variablesOf(call, pairs)
  if (flags.isOn('list')) {
    const { listVariables } = await import('#cli/rollout/list-variables.ts')
    return listVariables(call, resources, selectedContainers)
  }
  const prefix = flags.text('prefix')
  const variables = [...set, ...(await variablesFrom(call))].map((each) => ({ ...each, name: `${prefix}${each.name}` }))
  await changeEach(
    call,
    resources,
    { operation: 'env updated', failure: 'failed to patch env update to pod template:' },
    (object, info) => {
      const spec = specOf(object, info)
      const containers = selectedContainers(spec, flags.text('containers'))
      if (containers.length === 0)
        host.complain(
          `Warning: ${info.type.kind}/${info.name} does not have any containers matching ${JSON.stringify(flags.text('containers'))}\n`,
        )
      for (const container of containers) container.env = changedVariables(container.env ?? [], variables, remove, flags.isOn('overwrite'))
    },
  )
}

function selectedContainers(spec: V1PodSpec, pattern: string): V1Container[] {
  const all = [...spec.containers, ...(spec.initContainers ?? [])]
  if (pattern === '' || pattern === '*') return all
  const expression = new RegExp(
    `^${pattern
      .replaceAll(/[.+^${}()|[\]\\]/g, '\\$&')
      .replaceAll('*', '.*')
      .replaceAll('?', '.')}$`,
  )
  return all.filter(({ name }) => expression.test(name))
}

function changedVariables(
  before: readonly V1EnvVar[],
  set: readonly V1EnvVar[],
  remove: readonly string[],
  overwrites: boolean,
): V1EnvVar[] {
  const taken = set.filter(({ name, value }) => before.some((old) => old.name === name && old.value !== value))
  if (!overwrites && taken.length > 0)
    throw new CliError(
      `'${taken[0]?.name}' already has a value (${before.find(({ name }) => name === taken[0]?.name)?.value ?? ''}), and --overwrite is false`,
    )
  const kept = before.filter(({ name }) => !remove.includes(name)).map((old) => set.findLast(({ name }) => name === old.name) ?? old)
  return [
    ...kept,
    ...set.filter(
      (each, index) => !kept.some(({ name }) => name === each.name) && set.findLastIndex(({ name }) => name === each.name) === index,
    ),
  ]
}

async function variablesOf({ flags, host }: Call, pairs: readonly string[]): Promise<{ set: V1EnvVar[]; remove: string[] }> {
  const set: V1EnvVar[] = []
  const remove: string[] = []
  for (const pair of [...flags.list('env'), ...pairs]) {
    if (pair === '-') {
      for (const line of Buffer.from(await host.terminal.readAll())
        .toString()
        .split('\n'))
        if (line.includes('=')) set.push(variable(line))
    } else if (pair.includes('=')) set.push(variable(pair))
    else remove.push(pair.slice(0, -1))
  }
  const both = remove.find((name) => set.some((each) => each.name === name))
  if (both !== undefined) throw new CliError(`can not both modify and remove the same environment variable in the same command`)
  return { set, remove }
}

function variable(text: string): V1EnvVar {
  const [name, value = ''] = splitAt(text, '=')
  if (!/^[^=]+$/.test(name))
    throw new CliError(`environment variables must be of the form key=value and can not contain whitespace: ${text}`)
  if (!/^[-._a-zA-Z][-._a-zA-Z0-9]*$/.test(name))
    throw new CliError(
      `${JSON.stringify(name)} is not a valid key name: a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not start with a digit (e.g. 'my.env-name',  or 'MY_ENV.NAME',  or 'MyEnvName1', regex used for validation is '[-._a-zA-Z][-._a-zA-Z0-9]*')`,
    )
  return { name, value }
}

/** Every key of a config map or secret as a variable. */
async function variablesFrom(call: Call): Promise<V1EnvVar[]> {
  const { flags } = call
  const from = flags.text('from')
  if (from === '') return []
  const { infos } = await findInfos(call, { args: [from], selector: '' })
  const keys = flags.list('keys')
  const envName = (key: string): string => {
    const upper = key.toUpperCase().replaceAll(/[^A-Z0-9_]/g, '_')
    if (upper !== key) call.host.complain(`Warning: key ${key} transferred to ${upper}\n`)
    return upper
  }
  return infos.flatMap(({ object, name }) => {
    if (object.kind !== 'Secret' && object.kind !== 'ConfigMap') throw new CliError('unsupported resource specified in --from')
    const wanted = Object.keys((object['data'] as object | undefined) ?? {}).filter((key) => keys.length === 0 || keys.includes(key))
    return wanted.map((key): V1EnvVar => {
      const reference = { name, key }
      return {
        name: envName(key),
        valueFrom: object.kind === 'Secret' ? { secretKeyRef: reference } : { configMapKeyRef: reference },
      }
    })
  })
}

export async function setResources(call: Call): Promise<void> {
  const { flags } = call
  if (call.args.length === 0 && !hasManifests(call)) throw missingResources()
  const [limits, requests] = [flags.text('limits'), flags.text('requests')]
  if (limits === '' && requests === '')
    throw new CliError('you must specify an update to requests or limits (in the form of --requests/--limits)')
  const [newLimits, newRequests] = [limits === '' ? {} : quantities(limits), requests === '' ? {} : quantities(requests)]
  const words = { operation: 'resource requirements updated', failure: 'failed to patch resources update to pod template' }
  await changeEach(call, call.args, words, (object, info) => {
    const spec = specOf(object, info)
    const containers = selectedContainers({ containers: spec.containers }, flags.text('containers'))
    if (containers.length === 0) throw new CliError(`error: unable to find container named ${flags.text('containers')}`)
    for (const container of containers) {
      const { resources = {} } = container
      container.resources = {
        ...resources,
        ...defined({
          limits: limits === '' ? undefined : { ...resources.limits, ...newLimits },
          requests: requests === '' ? undefined : { ...resources.requests, ...newRequests },
        }),
      }
    }
  })
}

export async function setServiceAccount(call: Call): Promise<void> {
  const account = call.args.at(-1)
  if (account === undefined) throw new CliError('serviceaccount is required')
  const words = { operation: 'serviceaccount updated', failure: 'failed to patch ServiceAccountName' }
  await changeEach(call, call.args.slice(0, -1), words, (object, info) => {
    const spec = specOf(object, info)
    spec.serviceAccountName = account
  })
}

export async function setSelector(call: Call): Promise<void> {
  const { flags } = call
  const text = call.args.at(-1)
  if (text === undefined) throw new CliError('one selector is required')
  const { matchLabels = {}, matchExpressions = [] } = labelSelectorObject(text)
  const resourceVersion = flags.text('resource-version')
  await changeEach(call, call.args.slice(0, -1), { operation: 'selector updated' }, (object) => {
    if (object.kind !== 'Service') throw new CliError(`setting a selector is only supported for Services`)
    if (matchExpressions.length > 0) {
      const shown = matchExpressions.map(({ key, operator, values = [] }) => `{${key} ${operator} [${values.join(' ')}]}`)
      throw new CliError(`match expression [${shown.join(' ')}] not supported on this object`)
    }
    Object.assign((object['spec'] ?? {}) as object, { selector: matchLabels })
    if (resourceVersion !== '') object.metadata = { ...object.metadata, resourceVersion }
  })
}

export async function setSubject(call: Call): Promise<void> {
  const { flags } = call
  if (call.args.length === 0 && !hasManifests(call)) throw missingResources()
  const { subjectsOf } = await import('#cli/create/access.ts')
  if (flags.list('user').length === 0 && flags.list('group').length === 0 && flags.list('serviceaccount').length === 0)
    throw new CliError('you must specify at least one value of user, group or serviceaccount')
  const added = subjectsOf(call) as { kind: string; name: string; namespace?: string }[]
  const words = { operation: 'subjects updated', failure: 'failed to patch subjects to rolebinding:' }
  await changeEach(call, call.args, words, (object) => {
    if (object.kind !== 'RoleBinding' && object.kind !== 'ClusterRoleBinding')
      throw new CliError('setting subjects is only supported for RoleBinding/ClusterRoleBinding')
    const subjects = [...((object['subjects'] as typeof added | undefined) ?? [])]
    for (const each of added)
      if (!subjects.some((old) => old.kind === each.kind && old.name === each.name && old.namespace === each.namespace)) subjects.push(each)
    object['subjects'] = subjects
  })
}
