/** A pod as people write them, which is 3 KB once it is stored. `{n}` stands for its number. */
export function threeKilobytePod(namespace: string): object {
  const container = (name: string, port: number) => ({
    name,
    image: `registry.example.com/shop/${name}:1.24.3`,
    args: ['--config=/etc/app/config.yaml', '--verbose=2'],
    ports: [{ name: 'http', containerPort: port }],
    env: [
      { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      { name: 'DATABASE_URL', value: 'postgres://db.shop.svc.cluster.local:5432/shop' },
    ],
    resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '256Mi' } },
  })
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'pod-{n}', namespace, labels: { app: 'shop', tier: 'web', 'pod-template-hash': '6d4cf56db6' } },
    spec: { containers: [container('web', 8080)], tolerations: [{ key: 'dedicated', operator: 'Equal', value: 'shop' }] },
  }
}
