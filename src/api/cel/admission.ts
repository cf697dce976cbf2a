/** The expressions of admission: policies, their bindings' variables, and the conditions of webhooks. */

import { Environment, type Program } from '#api/cel/environment.ts'
import { kubernetesLibraries, withMore } from '#api/cel/libraries.ts'
import { authorizerType, resourceCheckType } from '#api/cel/library/authorizer.ts'
import { jsonPatchLibrary, mutationTypes } from '#api/cel/library/mutations.ts'
import { CelCompileError } from '#api/cel/syntax/source.ts'
import {
  bool,
  type CelType,
  dyn,
  int,
  listOf,
  mapOf,
  nullType,
  parametersOf,
  sameType,
  string,
  struct,
  timestamp,
} from '#api/cel/types/cel-type.ts'
import type { StructType } from '#api/cel/types/declarations.ts'
import { structType } from '#api/cel/types/struct-types.ts'
import { nameOfType } from '#api/cel/values/value.ts'
import { defined } from '#base/defined.ts'

const strings = listOf(string)
const labels = mapOf(string, string)

export const admissionStructs: readonly StructType[] = [
  structType('kubernetes.GroupVersionKind', { group: string, version: string, kind: string }),
  structType('kubernetes.GroupVersionResource', { group: string, version: string, resource: string }),
  structType('kubernetes.UserInfo', { username: string, uid: string, groups: strings, extra: mapOf(string, strings) }),
  structType('kubernetes.AdmissionRequest', {
    kind: struct('kubernetes.GroupVersionKind'),
    resource: struct('kubernetes.GroupVersionResource'),
    subResource: string,
    requestKind: struct('kubernetes.GroupVersionKind'),
    requestResource: struct('kubernetes.GroupVersionResource'),
    requestSubResource: string,
    name: string,
    namespace: string,
    operation: string,
    userInfo: struct('kubernetes.UserInfo'),
    dryRun: bool,
    options: dyn,
  }),
  structType('kubernetes.NamespaceSpec', { finalizers: strings }),
  structType('kubernetes.NamespaceCondition', {
    status: string,
    type: string,
    lastTransitionTime: timestamp,
    message: string,
    reason: string,
  }),
  structType('kubernetes.NamespaceStatus', { conditions: listOf(struct('kubernetes.NamespaceCondition')), phase: string }),
  structType('kubernetes.NamespaceMetadata', {
    name: string,
    generateName: string,
    namespace: string,
    labels,
    annotations: labels,
    UID: string,
    creationTimestamp: timestamp,
    deletionGracePeriodSeconds: int,
    deletionTimestamp: timestamp,
    generation: int,
    resourceVersion: string,
    finalizers: strings,
  }),
  structType('kubernetes.Namespace', {
    metadata: struct('kubernetes.NamespaceMetadata'),
    spec: struct('kubernetes.NamespaceSpec'),
    status: struct('kubernetes.NamespaceStatus'),
  }),
]

export type AdmissionUse =
  | 'matchCondition'
  | 'variable'
  | 'validation'
  | 'messageExpression'
  | 'auditAnnotation'
  | 'applyConfiguration'
  | 'jsonPatch'

/** Undefined: any. */
const resultTypes: Readonly<Record<AdmissionUse, readonly CelType[] | undefined>> = {
  matchCondition: [bool],
  variable: undefined,
  validation: [bool],
  messageExpression: [string],
  auditAnnotation: [string, nullType],
  applyConfiguration: [struct('Object')],
  jsonPatch: [listOf(struct('JSONPatch'))],
}

export type AdmissionScope = {
  readonly hasParams: boolean
  readonly hasAuthorizer: boolean
  /** In order, each with the type it was found to have. Undefined where there are none to be had. */
  readonly variables?: ReadonlyMap<string, CelType>
}

const mutationLibraries = withMore(kubernetesLibraries, { functions: jsonPatchLibrary })
const environments = new Map<string, Environment>()

function environmentFor(use: AdmissionUse, { hasParams, hasAuthorizer, variables }: AdmissionScope): Environment {
  const makesPatches = use === 'applyConfiguration' || use === 'jsonPatch'
  const key = `${makesPatches}/${hasParams}/${hasAuthorizer}`
  const base = environments.getOrInsertComputed(key, () => {
    const declared: Record<string, CelType> = {
      object: dyn,
      oldObject: dyn,
      namespaceObject: struct('kubernetes.Namespace'),
      request: struct('kubernetes.AdmissionRequest'),
      ...defined({ params: hasParams ? dyn : undefined }),
      ...(hasAuthorizer ? { authorizer: authorizerType, 'authorizer.requestResource': resourceCheckType } : {}),
    }
    return new Environment({
      libraries: makesPatches ? mutationLibraries : kubernetesLibraries,
      variables: declared,
      structs: admissionStructs,
      ...defined({ structNamed: makesPatches ? mutationTypes : undefined }),
    })
  })
  if (variables === undefined) return base
  const type: StructType = { name: 'kubernetes.variables', field: (name) => variables.get(name) }
  return base.extended({ variables: { variables: struct('kubernetes.variables') }, structs: [type] })
}

export type AdmissionResult = { readonly program: Program } | { readonly detail: string }

/** Tells in upstream's words what is wrong. */
export function compileAdmission(text: string, use: AdmissionUse, scope: AdmissionScope): AdmissionResult {
  let program: Program
  try {
    program = environmentFor(use, scope).compile(text)
  } catch (error) {
    if (error instanceof CelCompileError) return { detail: `compilation failed: ${error.message}` }
    throw error
  }
  const wanted = resultTypes[use]
  if (wanted === undefined || wanted.some((type) => sameType(type, program.type))) return { program }
  const [only] = wanted
  const found = goTypeText(program.type)
  if (wanted.length === 1 && only !== undefined) return { detail: `must evaluate to ${goTypeText(only)} but got ${found}` }
  return { detail: `must evaluate to one of [${wanted.map(goTypeText).join(' ')}] but got ${found}` }
}

/** As cel-go prints a type outside of its own messages. */
export function goTypeText(type: CelType): string {
  const parameters = parametersOf(type)
  if (type.kind === 'wrapper') return `wrapper(${goTypeText(type.of)})`
  return parameters.length === 0 ? nameOfType(type) : `${nameOfType(type)}(${parameters.map(goTypeText).join(', ')})`
}
