/** As CRI numbers them: alphabetically, some left out; 0 says nothing. */
const signals: readonly string[] = [
  ...[
    '',
    'SIGABRT',
    'SIGALRM',
    'SIGBUS',
    'SIGCHLD',
    'SIGCLD',
    'SIGCONT',
    'SIGFPE',
    'SIGHUP',
    'SIGILL',
    'SIGINT',
    'SIGIO',
    'SIGIOT',
    'SIGKILL',
  ],
  ...['SIGPIPE', 'SIGPOLL', 'SIGPROF', 'SIGPWR', 'SIGQUIT', 'SIGSEGV', 'SIGSTKFLT', 'SIGSTOP', 'SIGSYS', 'SIGTERM', 'SIGTRAP', 'SIGTSTP'],
  ...['SIGTTIN', 'SIGTTOU', 'SIGURG', 'SIGUSR1', 'SIGUSR2', 'SIGVTALRM', 'SIGWINCH', 'SIGXCPU', 'SIGXFSZ'],
]

export const stopSignalOf = (number = 0): string | undefined => signals[number] || undefined

const firstRealTime = 34
const lastRealTime = 64

/** What an image or a record names: `SIGTERM`, `TERM`, `15`, `SIGRTMIN+3`. What nobody knows ends the container as any other. */
export function knownSignal(text: string): NodeJS.Signals | number {
  const name = text.startsWith('SIG') ? text : `SIG${text}`
  if (name === 'SIGCLD') return 'SIGCHLD'
  if (signals.includes(name) && name !== '') return name as NodeJS.Signals
  const [, from, offset = '0'] = /^SIGRT(MIN|MAX)([+-]\d{1,2})?$/.exec(name) ?? []
  const number =
    from === undefined ? Number(/^\d{1,2}$/.exec(text)?.[0] ?? 0) : (from === 'MIN' ? firstRealTime : lastRealTime) + Number(offset)
  return number >= 1 && number <= lastRealTime ? number : 'SIGTERM'
}
