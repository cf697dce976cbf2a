/** Calico's names for who a pod runs as: its service account is a label of the pod, and so are the account's own labels. */

export const accountLabel = 'projectcalico.org/serviceaccount'
const prefix = 'pcsa.'

export function accountLabels(labels: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).map(([key, value]) => [prefix + key, value]))
}

export function accountLabelsIn(labels: Readonly<Record<string, string>> | undefined): Record<string, string> {
  const own = Object.entries(labels ?? {}).filter(([key]) => key.startsWith(prefix))
  return Object.fromEntries(own.map(([key, value]) => [key.slice(prefix.length), value]))
}
