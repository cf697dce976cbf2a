/** Commands that go on until they are stopped. */
const services: ReadonlySet<string> = new Set([
  'up',
  'init',
  'join',
  'apiserver',
  'controller-manager',
  'scheduler',
  'kubelet',
  'proxy',
  'dns',
  'runtime',
])

/** The unit's text. Throws where the command is none that could be a service. */
export function unitText(program: string, line: readonly string[]): string {
  const [command = ''] = line
  if (!services.has(command)) throw new Error(`${command} does not run on: a unit can be for ${[...services].join(', ')}`)
  const detaching = line.find((word) => word === '-d' || word === '--detach')
  if (detaching !== undefined) throw new Error(`${detaching}: systemd looks after the process itself, leave the flag out`)
  return `[Unit]
Description=Typernetes: ${command}
Wants=network-online.target
After=network-online.target

[Service]
Type=exec
ExecStart=${[program, ...line].map(quoted).join(' ')}
Restart=always
RestartSec=2
# Containers outlive the program, and are taken over by the next one.
KillMode=process
Delegate=yes
LimitNOFILE=1048576
TasksMax=infinity
OOMScoreAdjust=-999

[Install]
WantedBy=multi-user.target
`
}

/** One word of a command line, in systemd's own quoting: % and $ mean something to it, too. */
function quoted(word: string): string {
  const escaped = word.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n').replaceAll('%', '%%').replaceAll('$', '$$$$')
  return /^[\w@%+=:,./$-]+$/.test(escaped) ? escaped : `"${escaped}"`
}
