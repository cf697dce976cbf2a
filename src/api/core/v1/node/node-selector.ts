/** Node selectors and node affinity, made ready to match many nodes. */
import type {
  V1Node,
  V1NodeSelector,
  V1NodeSelectorRequirement,
  V1NodeSelectorTerm,
  V1Pod,
  V1PreferredSchedulingTerm,
} from '#api/core/v1/types.gen.ts'
import { type LabelOperator, type Matcher, requirementMatcher } from '#api/meta/label-requirement.ts'

export type NodeMatcher = (node: V1Node) => boolean

const operators: Record<string, LabelOperator> = {
  In: 'in',
  NotIn: 'notin',
  Exists: 'exists',
  DoesNotExist: '!',
  Gt: 'gt',
  Lt: 'lt',
}

/** Terms are alternatives; a term without requirements matches nothing. */
export function nodeSelectorMatcher(selector: V1NodeSelector): NodeMatcher {
  const terms = (selector.nodeSelectorTerms ?? []).map(termMatcher)
  return (node) => terms.some((matches) => matches(node))
}

function termMatcher(term: V1NodeSelectorTerm): NodeMatcher {
  const expressions = (term.matchExpressions ?? []).map(requirement)
  const fields = (term.matchFields ?? []).map(requirement)
  if (expressions.length === 0 && fields.length === 0) return () => false
  return ({ metadata }) => {
    for (const matches of expressions) if (!matches(metadata.labels ?? {})) return false
    if (fields.length > 0) {
      const named = { 'metadata.name': metadata.name ?? '' }
      for (const matches of fields) if (!matches(named)) return false
    }
    return true
  }
}

function requirement({ key, operator, values }: V1NodeSelectorRequirement): Matcher {
  const known = operators[operator]
  // An operator nobody knows matches no node, as one that cannot be parsed does.
  return known === undefined ? () => false : requirementMatcher({ key, operator: known, values: values ?? [] })
}

/** What `nodeSelector` and required node affinity demand together; undefined when the pod demands nothing. */
export function requiredNodeMatcher({ spec }: Pick<V1Pod, 'spec'>): NodeMatcher | undefined {
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  const wanted = Object.entries(spec.nodeSelector ?? {})
  if (required === undefined && wanted.length === 0) return undefined
  const matchesAffinity = required === undefined ? undefined : nodeSelectorMatcher(required)
  return (node) => {
    for (const [key, value] of wanted) if (node.metadata.labels?.[key] !== value) return false
    return matchesAffinity === undefined || matchesAffinity(node)
  }
}

export type PreferredNodeTerms = readonly { readonly weight: number; readonly matches: NodeMatcher }[]

export function preferredNodeTerms(terms: readonly V1PreferredSchedulingTerm[] | undefined): PreferredNodeTerms {
  const preferred = []
  for (const { weight, preference } of terms ?? []) {
    // A preference without requirements prefers every node alike; upstream leaves it out.
    if (weight === 0 || (!preference.matchExpressions?.length && !preference.matchFields?.length)) continue
    preferred.push({ weight, matches: termMatcher(preference) })
  }
  return preferred
}

export function sumOfMatchingWeights(terms: PreferredNodeTerms, node: V1Node): number {
  let sum = 0
  for (const { weight, matches } of terms) if (matches(node)) sum += weight
  return sum
}
