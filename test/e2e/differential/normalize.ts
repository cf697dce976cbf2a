/** What two runs of the same command cannot have in common: times, identities, chance. */
export function normalized(text: string, namespace: string): string {
  return withoutHelp(text)
    .replaceAll(namespace, 'NAMESPACE')
    .replaceAll(/\bdiff-[ab]\d+\b/g, 'NAMESPACE')
    .replaceAll(/(Resource Version: +)\d+/g, '$1RV')
    .replaceAll(/\/tmp\/(LIVE|MERGED|kubectl-edit)-\w+(?:\/edit)?/g, '/tmp/$1')
    .replaceAll(/\bkubectl\.1\.\d+/g, 'kubectl')
    .replaceAll(/127\.0\.0\.1:\d+/g, 'SERVER')
    .replaceAll(/kubeconfig-(?:ours|theirs)/g, 'kubeconfig')
    .replaceAll(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, 'UID')
    .replaceAll(/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z| [+-]\d{4} UTC)?/g, 'TIME')
    .replaceAll(/\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}/g, 'TIME')
    .replaceAll(/("?resourceVersion"?: ?")\d+"/g, '$1RV"')
    .replaceAll(/\b([a-z][a-z0-9-]*-[a-z0-9]{8,10})-[bcdfghjklmnpqrstvwxz2456789]{5}\b/g, '$1-SUFFIX')
    .replaceAll(/\b(kube-api-access|once|app|rc1|headless|lb|manual)-[bcdfghjklmnpqrstvwxz2456789]{5}\b/g, '$1-SUFFIX')
    .replaceAll(/\b(debugger|node-debugger-sim-node-\d)-[bcdfghjklmnpqrstvwxz2456789]{5}\b/g, '$1-SUFFIX')
    .replaceAll(/\bsim:\/\/[0-9a-f]{64}/g, 'CONTAINER')
    .replaceAll(/\bsim-node-\d\b/g, 'NODE')
    .replaceAll(/\b(?:10|100|198|203)\.\d+\.\d+\.\d+\b/g, 'ADDRESS')
    .replaceAll(/\b3[0-2]\d{3}(?=\/TCP|\b)/g, 'NODEPORT')
}

/** Ages as well, and the columns whose widths hang on them. */
export function withoutAges(text: string): string {
  return text
    .replaceAll(/(?<![\w.-])(?:\d+y)?(?:\d+d)?(?:\d+h)?(?:\d+m)?(?:\d+s)?(?<=\d[ydhms])(?![\w.-])/g, 'AGE')
    .replaceAll(/[ \t]+/g, ' ')
    .replaceAll(/ +$/gm, '')
}

/** Help is written in words of our own. */
function withoutHelp(text: string): string {
  return /^Usage:\n {2}kubectl/m.test(text) ? text.replace(/[\s\S]*?Use "kubectl options"[^\n]*\n?/, 'HELP') : text
}

/** Events of the same second come in any order, and so do objects that are named by chance. */
export function inOneOrder(text: string): string {
  const lines = text.split('\n')
  const isEvent = (line: string) => /^(?: *|AGE )(?:Normal|Warning) /.test(line)
  const sortedRuns: string[] = []
  let run: string[] = []
  for (const line of [...lines, '']) {
    if (isEvent(line)) run.push(line)
    else {
      sortedRuns.push(...run.sort(), line)
      run = []
    }
  }
  return sortedRuns.join('\n').split('\n\n\n').toSorted().join('\n\n\n')
}
