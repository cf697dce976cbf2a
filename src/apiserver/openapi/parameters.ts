/** The parameters of operations: which action takes which. */
import type { Parameter } from './operation.ts'
import { describeParameter } from './parameter-texts.ts'

type Name = string

/** `operation` is one of the official client's, in whose typings the text is found. */
function query(operation: string, type: Parameter['type'], ...names: Name[]): Parameter[] {
  return names.map((name) => ({ name, in: 'query', type, text: () => describeParameter(operation, name) }))
}

const inlined = (parameter: Parameter): Parameter => ({ ...parameter, isInline: true })

function byName(...parameters: Parameter[][]): readonly Parameter[] {
  return parameters.flat().sort((one, other) => (one.name < other.name ? -1 : one.name > other.name ? 1 : one.in < other.in ? -1 : 1))
}

const [pretty] = query('readNamespacedPodDisruptionBudget', 'string', 'pretty') as [Parameter]
const dryRun = query('createNamespacedPodDisruptionBudget', 'string', 'dryRun').map(inlined)
const fieldValidation = query('createNamespacedPodDisruptionBudget', 'string', 'fieldValidation').map(inlined)

const listing = 'listNamespacedPodDisruptionBudget'
const selection = [
  ...query(listing, 'string', 'continue', 'fieldSelector', 'labelSelector', 'resourceVersion', 'resourceVersionMatch', 'shardSelector'),
  ...query(listing, 'integer', 'limit', 'timeoutSeconds'),
  ...query(listing, 'boolean', 'sendInitialEvents'),
]
const watching = query(listing, 'boolean', 'allowWatchBookmarks', 'watch')

const deleting = 'deleteCollectionNamespacedPodDisruptionBudget'
const deletion = [
  ...dryRun,
  ...query(deleting, 'integer', 'gracePeriodSeconds'),
  ...query(deleting, 'boolean', 'ignoreStoreReadErrorWithClusterBreakingPotential', 'orphanDependents'),
  ...query(deleting, 'string', 'propagationPolicy'),
]
const writing = [...dryRun, ...query('createNamespacedPodDisruptionBudget', 'string', 'fieldManager'), ...fieldValidation]
const patching = [
  ...dryRun,
  ...fieldValidation,
  ...query('patchNamespacedPodDisruptionBudget', 'string', 'fieldManager'),
  ...query('patchNamespacedPodDisruptionBudget', 'boolean', 'force'),
]

/** What each action takes beside the path's own. */
export const actionParameters = {
  get: [pretty],
  list: [pretty, ...selection, ...watching],
  create: [pretty, ...writing],
  update: [pretty, ...writing],
  patch: [pretty, ...patching],
  delete: [pretty, ...deletion],
  deletecollection: [pretty, ...selection, ...deletion],
} as const satisfies Record<string, readonly Parameter[]>

const log = 'readNamespacedPodLog'
const exec = 'connectGetNamespacedPodExec'
const attach = 'connectGetNamespacedPodAttach'

/** By `plural/subresource`. */
export const connectParameters: Readonly<Record<string, readonly Parameter[]>> = {
  'pods/log': [
    pretty,
    ...query(log, 'string', 'container', 'stream'),
    ...query(log, 'boolean', 'follow', 'insecureSkipTLSVerifyBackend', 'previous', 'timestamps'),
    ...query(log, 'integer', 'limitBytes', 'sinceSeconds', 'tailLines'),
  ],
  'pods/exec': [...query(exec, 'string', 'command', 'container'), ...query(exec, 'boolean', 'stderr', 'stdin', 'stdout', 'tty')],
  'pods/attach': [...query(attach, 'string', 'container'), ...query(attach, 'boolean', 'stderr', 'stdin', 'stdout', 'tty')],
  'pods/portforward': query('connectGetNamespacedPodPortforward', 'integer', 'ports'),
  'pods/proxy': query('connectGetNamespacedPodProxy', 'string', 'path'),
  'services/proxy': query('connectGetNamespacedServiceProxy', 'string', 'path'),
  'nodes/proxy': query('connectGetNodeProxy', 'string', 'path'),
}

export const namespaceParameter: Parameter = {
  name: 'namespace',
  in: 'path',
  type: 'string',
  text: () => describeParameter(listing, 'namespace'),
}
export const restOfPathParameter: Parameter = {
  name: 'path',
  in: 'path',
  type: 'string',
  text: () => describeParameter('connectGetNamespacedPodProxyWithPath', 'path'),
}

const nameParameters = new Map<string, Parameter>()

/** Of a kind's object; kinds with the same name share it. */
export function nameParameter(kind: string): Parameter {
  let parameter = nameParameters.get(kind)
  if (parameter === undefined) {
    parameter = { name: 'name', in: 'path', type: 'string', text: () => `name of the ${kind}`, isInline: true }
    nameParameters.set(kind, parameter)
  }
  return parameter
}

export { byName }
