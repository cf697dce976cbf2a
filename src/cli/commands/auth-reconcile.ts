/** `kubectl auth reconcile`: roles and bindings are brought to what manifests say, and never lose what they have unless that is asked for. */

import { equalJson } from '#api/meta/patch/json-value.ts'
import type { V1PolicyRule, V1Subject } from '#api/rbac/v1/types.gen.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { ApiError, CliError, usageError } from '#cli/cli-error.ts'
import { resultPrinter } from '#cli/print/printer.ts'
import { fetchInfo, type Info, infoPath } from '#cli/resources/info.ts'
import { readManifestsStrictly, requireManifests } from '#cli/resources/read-manifests.ts'
import { resourcePath } from '#cli/session/resource-types.ts'
import { dryRunOf, dryRunSuffix } from '#cli/write-options.ts'

const kinds = ['Role', 'ClusterRole', 'RoleBinding', 'ClusterRoleBinding']

export async function authReconcile(call: Call): Promise<void> {
  const { args, host } = call
  if (args.length > 0) throw usageError('auth reconcile', 'no arguments are allowed')
  requireManifests(call)
  const dryRun = dryRunOf(call)
  const printer = await resultPrinter(call, 'reconciled', dryRunSuffix(dryRun))
  for (const info of await readManifestsStrictly(call)) {
    // Manifests hold other things as well, which are none of ours.
    if (info.type.group !== 'rbac.authorization.k8s.io' || !kinds.includes(info.type.kind)) continue
    const { object, details } = await reconciled(call, info, dryRun === 'client' ? undefined : dryRun === 'server' ? 'All' : '')
    host.write(printer(object))
    for (const line of details) host.complain(`${line}\n`)
  }
}

async function reconciled(call: Call, info: Info, dryRun: string | undefined): Promise<{ object: ApiObject; details: string[] }> {
  const rest = await call.session.rest
  let live: ApiObject | undefined
  try {
    live = await fetchInfo(rest, info)
  } catch (error) {
    if (!(error instanceof ApiError && error.isNotFound)) throw error
  }
  const query = { dryRun }
  if (live === undefined)
    return {
      object:
        dryRun === undefined
          ? info.object
          : await rest.json<ApiObject>({ method: 'POST', path: resourcePath(info.type, info.namespace), query, body: info.object }),
      details: ['\treconciliation required create', ...differences(call, { ...info.object, rules: [], subjects: [] }, info.object)],
    }
  const next: ApiObject = {
    ...live,
    metadata: {
      ...live.metadata,
      labels: { ...live.metadata?.labels, ...info.object.metadata?.labels },
      annotations: { ...live.metadata?.annotations, ...info.object.metadata?.annotations },
    },
  }
  if (info.type.kind.endsWith('Binding')) {
    if (!equalJson(live['roleRef'], info.object['roleRef']))
      throw new CliError(`the roleRef of ${info.name} cannot be changed; delete the binding first`)
    next['subjects'] = subjectsOf(call, live, info.object)
  } else if (info.object['aggregationRule'] === undefined) next['rules'] = rulesOf(call, live, info.object)
  else next['aggregationRule'] = info.object['aggregationRule']
  if (equalJson(JSON.parse(JSON.stringify(next)), JSON.parse(JSON.stringify(withMaps(live))))) return { object: next, details: [] }
  const details = ['\treconciliation required update', ...differences(call, live, info.object)]
  if (dryRun === undefined) return { object: next, details }
  return { object: await rest.json<ApiObject>({ method: 'PUT', path: infoPath(info), query, body: next }), details }
}

/** What comes and goes, in Go's way of printing it. */
function differences(call: Call, live: ApiObject, wanted: ApiObject): string[] {
  const lines: string[] = []
  const say = (title: string, texts: readonly string[]) => {
    if (texts.length > 0) lines.push(`\t${title}:`, ...texts.map((text) => `\t\t${text}`))
  }
  const list = (values: readonly string[] = []) => `[${values.join(' ')}]`
  const ruleText = (rule: V1PolicyRule) =>
    `{Verbs:${list(rule.verbs)} APIGroups:${list(rule.apiGroups)} Resources:${list(rule.resources)} ResourceNames:${list(rule.resourceNames)} NonResourceURLs:${list(rule.nonResourceURLs)}}`
  const subjectText = ({ kind, apiGroup = '', name, namespace = '' }: V1Subject) =>
    `{Kind:${kind} APIGroup:${apiGroup} Name:${name} Namespace:${namespace}}`
  const texts = (object: ApiObject, field: string, text: (value: never) => string) => ((object[field] ?? []) as never[]).map(text)
  const missing = (field: string, text: (value: never) => string) =>
    texts(wanted, field, text).filter((each) => !texts(live, field, text).includes(each))
  const extra = (field: string, text: (value: never) => string) =>
    texts(live, field, text).filter((each) => !texts(wanted, field, text).includes(each))
  say('missing subjects added', missing('subjects', subjectText))
  if (call.flags.isOn('remove-extra-subjects')) say('extra subjects removed', extra('subjects', subjectText))
  say('missing rules added', missing('rules', ruleText))
  if (call.flags.isOn('remove-extra-permissions')) say('extra rules removed', extra('rules', ruleText))
  return lines
}

const withMaps = (object: ApiObject): ApiObject => ({
  ...object,
  metadata: { ...object.metadata, labels: object.metadata?.labels ?? {}, annotations: object.metadata?.annotations ?? {} },
})

function subjectsOf({ flags }: Call, live: ApiObject, wanted: ApiObject): V1Subject[] {
  const [old, next] = [(live['subjects'] ?? []) as V1Subject[], (wanted['subjects'] ?? []) as V1Subject[]]
  const isSame = (one: V1Subject, other: V1Subject) =>
    one.kind === other.kind && one.name === other.name && (one.namespace ?? '') === (other.namespace ?? '')
  if (flags.isOn('remove-extra-subjects')) return next
  return [...old, ...next.filter((each) => !old.some((known) => isSame(known, each)))]
}

/** A rule is covered when one that is there allows all that it allows. */
function rulesOf({ flags }: Call, live: ApiObject, wanted: ApiObject): V1PolicyRule[] {
  const [old, next] = [(live['rules'] ?? []) as V1PolicyRule[], (wanted['rules'] ?? []) as V1PolicyRule[]]
  if (flags.isOn('remove-extra-permissions')) return next
  const includes = (all: readonly string[] = [], part: readonly string[] = []) =>
    all.includes('*') || part.every((each) => all.includes(each))
  const covers = (one: V1PolicyRule, other: V1PolicyRule) =>
    includes(one.verbs, other.verbs) &&
    includes(one.apiGroups, other.apiGroups) &&
    includes(one.resources, other.resources) &&
    includes(one.nonResourceURLs, other.nonResourceURLs) &&
    ((one.resourceNames ?? []).length === 0 || ((other.resourceNames ?? []).length > 0 && includes(one.resourceNames, other.resourceNames)))
  return [...old, ...next.filter((each) => !old.some((known) => covers(known, each)))]
}
