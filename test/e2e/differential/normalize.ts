/** What two runs of the same command cannot have in common: times, identities, chance. */
export function normalized(text: string, namespace: string): string {
  return text
    .replaceAll(namespace, 'NAMESPACE')
    .replaceAll(/\bkubectl\.1\.\d+/g, 'kubectl')
    .replaceAll(/127\.0\.0\.1:\d+/g, 'SERVER')
    .replaceAll(/kubeconfig-(?:ours|theirs)/g, 'kubeconfig')
    .replaceAll(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, 'UID')
    .replaceAll(/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z| [+-]\d{4} UTC)?/g, 'TIME')
    .replaceAll(/\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}/g, 'TIME')
    .replaceAll(/("?resourceVersion"?: ?")\d+"/g, '$1RV"')
    .replaceAll(/\b([a-z][a-z0-9-]*-[a-z0-9]{8,10})-[bcdfghjklmnpqrstvwxz2456789]{5}\b/g, '$1-SUFFIX')
    .replaceAll(/\b(kube-api-access|once|app)-[bcdfghjklmnpqrstvwxz2456789]{5}\b/g, '$1-SUFFIX')
    .replaceAll(/\bsim:\/\/[0-9a-f]{64}/g, 'CONTAINER')
    .replaceAll(/\bsim-node-\d\b/g, 'NODE')
    .replaceAll(/\b(?:10|100|198)\.\d+\.\d+\.\d+\b/g, 'ADDRESS')
    .replaceAll(/\b3[0-2]\d{3}(?=\/TCP|\b)/g, 'NODEPORT')
}

/** Ages as well, and the columns whose widths hang on them. */
export function withoutAges(text: string): string {
  return text
    .replaceAll(/(?<![\w.-])(?:\d+y)?(?:\d+d)?(?:\d+h)?(?:\d+m)?(?:\d+s)?(?<=\d[ydhms])(?![\w.-])/g, 'AGE')
    .replaceAll(/[ \t]+/g, ' ')
    .replaceAll(/ +$/gm, '')
}
