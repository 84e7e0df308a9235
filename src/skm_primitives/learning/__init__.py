"""Learning skills: tables, goal-conditioned DQN and TD3, few-shot learning."""
